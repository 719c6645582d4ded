// What every option of every verb has to refuse, whichever options there are: they are found in the program
// itself, so that a new one is held to the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "lact/cli/program.h"
#include "support/temporary_folder.h"

namespace lact::cli {
namespace {

using ::testing::HasSubstr;

/// The program, without running its verbs.
class OptionsOfVerbs : public ::testing::Test {
 protected:
  struct Found {
    std::string verb;  ///< "lm train"
    const CLI::Option* option;

    std::string name() const { return option->get_name(); }
    bool is_number() const {
      const std::string type = option->get_type_name();
      return type.starts_with("INT") || type.starts_with("UINT") || type.starts_with("FLOAT");
    }
  };

  OptionsOfVerbs() { collect("", *program_); }

  /// The sentence of the option itself if it refuses the value, "" if it takes it.
  std::string refusal(const Found& found, const std::string& value) {
    try {
      program_->parse(found.verb + " " + found.name() + "=" + value + " --no-such-option");
    } catch (const CLI::ValidationError& error) {
      return error.what();
    } catch (const CLI::ParseError&) {
      // Something is missing, or the option that does not exist is found: after the values were read, and
      // before the verb runs.
    }
    return "";
  }

  std::vector<Found> found_;

 private:
  void collect(const std::string& path, const CLI::App& app) {
    for (const auto* option : app.get_options()) found_.push_back({path, option});
    for (const auto* verb : app.get_subcommands({})) collect(path + " " + verb->get_name(), *verb);
  }

  ProgramOptions options_;
  int exit_code_ = 0;
  std::unique_ptr<CLI::App> program_ = make_program(options_, exit_code_);
};

TEST_F(OptionsOfVerbs, NumbersOutOfAllReasonAreRefusedByEveryOption) {
  const std::string huge = "9223372036854775807";
  // Options that may be negative.
  const std::set<std::string> negative = {"--weight-mean"};
  size_t numbers = 0;
  for (const auto& found : found_) {
    if (!found.is_number()) continue;
    ++numbers;
    const bool seed = found.name().ends_with("seed");
    for (const std::string value : {"-1", huge.c_str(), "nan", "inf", "-inf", "1e400", "12x"}) {
      if (seed && (value == "-1" || value == huge)) continue;
      if (value == "-1" && negative.count(found.name()) > 0) continue;
      EXPECT_THAT(refusal(found, value), HasSubstr(found.name()))
          << "lact" << found.verb << " " << found.name() << "=" << value;
    }
  }
  EXPECT_GT(numbers, 150U);
}

TEST_F(OptionsOfVerbs, DefaultsAreNotRefused) {
  size_t numbers = 0;
  for (const auto& found : found_) {
    const std::string value = found.option->get_default_str();
    if (!found.is_number() || value.empty() || value.front() == '[') continue;
    ++numbers;
    EXPECT_EQ(refusal(found, value), "") << "lact" << found.verb;
  }
  EXPECT_GT(numbers, 100U);
}

TEST_F(OptionsOfVerbs, PlacesThatCannotBeWrittenAreRefusedBeforeTheWork) {
  const lact::testing::TemporaryFolder folder;
  lact::testing::write_file(folder / "file", "");
  const std::set<std::string> outputs = {"--output", "--record",      "--export",
                                         "--png",    "--save-memory", "--save-state"};
  size_t places = 0;
  for (const auto& found : found_) {
    if (outputs.count(found.name()) == 0) continue;
    ++places;
    EXPECT_THAT(refusal(found, folder / "file/below"), HasSubstr("file is not a folder"))
        << "lact" << found.verb << " " << found.name();
    EXPECT_EQ(refusal(found, folder / "new"), "") << "lact" << found.verb << " " << found.name();
  }
  EXPECT_GE(places, 20U);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / ""), {}), 1) << "something was left";
}

TEST_F(OptionsOfVerbs, SeedsMayBeAnything) {
  for (const auto& found : found_) {
    if (!found.name().ends_with("seed")) continue;
    EXPECT_EQ(refusal(found, "9223372036854775807"), "") << found.verb;
    EXPECT_EQ(refusal(found, "0"), "") << found.verb;
  }
}

}  // namespace
}  // namespace lact::cli
