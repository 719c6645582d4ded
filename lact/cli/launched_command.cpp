#include "lact/cli/launched_command.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "lact/base/error.h"
#include "lact/cli/train_verb.h"
#include "lact/train/run_folder.h"

namespace lact::cli {

namespace {

/// Thrown where all words have been read and checked and the verb would run next. Its callback must stay: it
/// owns what the options write to.
struct AllIsRead {};

/// The option as it was given.
void add_given(std::vector<std::string>& words, const CLI::Option& option) {
  const bool flag = option.get_items_expected_max() == 0;
  for (const auto& value : option.results())
    words.push_back(flag ? option.get_name() : option.get_name() + "=" + value);
}

}  // namespace

LaunchedCommand::LaunchedCommand(std::vector<std::string> words)
    : words_(std::move(words)), program_(make_program(options_, exit_code_)) {
  LACT_CHECK(!words_.empty(),
             "[launch] nothing stands after --, expected a command such as: lact launch -n 2 -- lm train");
  program_->parse_complete_callback([] { throw AllIsRead(); });
  try {
    program_->parse(std::vector<std::string>(words_.rbegin(), words_.rend()));
  } catch (const AllIsRead&) {
  } catch (const CLI::CallForHelp&) {
    help_ = program_->help();
    return;
  } catch (const CLI::CallForAllHelp&) {
    help_ = program_->help("", CLI::AppFormatMode::All);
    return;
  }
  const CLI::App* const named = verb();
  LACT_CHECK(named->get_name() != "launch", "[launch] the command after -- is launch itself");
  const bool complete = named->get_subcommands([](const CLI::App*) { return true; }).empty();
  LACT_CHECK(complete || options_.version, "[launch] \"{}\" names no verb, expected one such as lm train",
             fmt::join(words_, " "));
}

const CLI::App* LaunchedCommand::verb() const {
  const CLI::App* app = program_.get();
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return app;
}

std::vector<std::string> LaunchedCommand::words_again() const {
  const CLI::App* const training = verb();
  const auto* const resume = training->get_option_no_throw("--resume");
  const auto* const output = training->get_option_no_throw("--output");
  if (resume == nullptr || output == nullptr || resume->count() > 0) return words_;
  const auto folder = output->as<std::string>();
  if (!std::filesystem::exists(train::run_file(folder))) return words_;
  std::vector<std::string> again;
  for (const auto* option : program_->get_options()) add_given(again, *option);
  std::vector<std::string> verbs;
  for (const auto* app = training; app != program_.get(); app = app->get_parent())
    verbs.push_back(app->get_name());
  again.insert(again.end(), verbs.rbegin(), verbs.rend());
  again.insert(again.end(), {"--resume=" + folder, "--from-start"});
  for (const auto* option : training->get_options())
    if (goes_with_resume(*option)) add_given(again, *option);
  return again;
}

std::vector<std::string> own_words_after_marker() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  const auto marker = std::find(words.begin(), words.end(), "--");
  return marker == words.end() ? std::vector<std::string>()
                               : std::vector<std::string>(marker + 1, words.end());
}

}  // namespace lact::cli
