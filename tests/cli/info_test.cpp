// `lact info` as a user runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "lact/models/lm/presets.h"
#include "lact/models/presets.h"

namespace lact {
namespace {

namespace fs = std::filesystem;
using options::Json;
using testing::HasSubstr;

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Outcome {
  int exit_code;
  std::string out, err;
};

/// A folder of its own for each test, removed at its end.
class InfoVerb : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("lact_info_test_" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  Outcome run(const std::string& arguments) const {
    const fs::path out = folder_ / "out", err = folder_ / "err";
    const std::string command =
        fmt::format("'{}' {} >'{}' 2>'{}'", LACT_PROGRAM, arguments, out.string(), err.string());
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_text(out), read_text(err)};
  }

  void expect_mistake(const std::string& arguments, const std::string& sentence) const {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_EQ(outcome.out, "") << arguments;
    EXPECT_THAT(outcome.err, HasSubstr(sentence)) << arguments;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }

  fs::path folder_;
};

TEST_F(InfoVerb, PrintsATable) {
  const Outcome outcome = run("info nvs_312m");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  for (const char* text : {"nvs_312m: view synthesis, 24 blocks of width 768", "312 M", "84.9 M", "27.2%",
                           "6 d^2 per block", "feed-forward", "update", "Muon takes"}) {
    EXPECT_THAT(outcome.out, HasSubstr(text));
  }
}

TEST_F(InfoVerb, PrintsJsonForPrograms) {
  const Outcome outcome = run("info lm_3b --json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json.at("parameters"), models::cost(models::lm_3b()).total().parameters);
  EXPECT_EQ(json.at("state"), 25 * 2304 * 3072);
  EXPECT_DOUBLE_EQ(json.at("state_per_block_d2").get<double>(), 0.75);
  EXPECT_DOUBLE_EQ(json.at("muon").at("break_even_chunk").get<double>(), 5 * 768);
  int64_t block = 0, others = 0;
  for (const auto& part : json.at("block")) block += part.at("parameters").get<int64_t>();
  for (const auto& part : json.at("others")) others += part.at("parameters").get<int64_t>();
  EXPECT_EQ(json.at("parameters"), 25 * block + others);
}

TEST_F(InfoVerb, WithoutMuonThereIsNothingToSayAboutIt) {
  EXPECT_FALSE(Json::parse(run("info video_1_3b --json").out).contains("muon"));
}

TEST_F(InfoVerb, ListsEveryPresetOnALineOfItsOwn) {
  const Outcome outcome = run("info --list");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'),
            std::ptrdiff_t(models::presets().size()));
  for (const auto& preset : models::presets()) EXPECT_THAT(outcome.out, HasSubstr(preset.name + " "));
  EXPECT_EQ(Json::parse(run("info --list --json").out).size(), models::presets().size());
}

TEST_F(InfoVerb, ChangesAreCounted) {
  const Json two =
      Json::parse(run("info lm_760m --set layer.memory.num_heads=2 --set num_layers=1 --json").out);
  EXPECT_DOUBLE_EQ(two.at("state_per_block_d2").get<double>(), 1.5);
  EXPECT_EQ(two.at("num_layers"), 1);
  const Json few = Json::parse(run("info nvs_312m --views 4 --image-size 256 --json").out);
  EXPECT_EQ(few.at("attended_tokens"), 1024);
  EXPECT_EQ(few.at("chunk_tokens"), 4096);
}

TEST_F(InfoVerb, ExportedConfigIsTheSameModel) {
  const fs::path file = folder_ / "model.json";
  const Outcome outcome = run(fmt::format("info lm_tiny --set chunk_size=64 --export '{}'", file.string()));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  models::LmConfig expected = models::lm_tiny();
  expected.chunk_size = 64;
  EXPECT_EQ(models::resolve_config(file.string()), models::ModelConfig(expected));
  EXPECT_THAT(run(fmt::format("info '{}'", file.string())).out, HasSubstr("chunks of 64"));
}

TEST_F(InfoVerb, MistakesAreOneLineAndExitCodeTwo) {
  expect_mistake("info lm_760", "did you mean lm_760m?");
  expect_mistake("info", "name a preset or a JSON file");
  expect_mistake("info lm_tiny --set layer.memory.num_heads=5", "does not divide model_dim 384");
  expect_mistake("info lm_tiny --set layr.memory.num_heads=4", "did you mean layer?");
  expect_mistake("info lm_tiny --set num_layers", "not of the form name=value");
  expect_mistake("info lm_tiny --views 4", "for view synthesis");
  expect_mistake("info nvs_312m --image-size 100", "does not divide into patches of 8");
  expect_mistake("info no_such_file.json", "no_such_file.json: cannot be opened");
}

TEST_F(InfoVerb, HelpHasAnExample) { EXPECT_THAT(run("info --help").out, HasSubstr("Example: lact info ")); }

TEST_F(InfoVerb, VersionNamesWhatTheProgramRunsOn) {
  const Outcome outcome = run("--version");
  EXPECT_EQ(outcome.exit_code, 0);
  for (const char* text : {"lact ", "LibTorch ", "BLAS: ", "processor: ", "threads: "}) {
    EXPECT_THAT(outcome.out, HasSubstr(text));
  }
}

}  // namespace
}  // namespace lact
