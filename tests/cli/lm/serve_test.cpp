// `lact lm serve` as a user runs it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <regex>
#include <thread>

#include "lact/base/started_process.h"
#include "support/api_client.h"
#include "support/program.h"
#include "support/served_lm.h"

namespace lact::cli {
namespace {

using lact::testing::ApiClient;
using lact::testing::expect_mistake;
using lact::testing::read_file;
using lact::testing::TinyLmFolder;
using nlohmann::json;
using ::testing::HasSubstr;

/// The program, with a port that it chose.
class ServingProgram {
 public:
  ServingProgram(const TinyLmFolder& folder, const std::vector<std::string>& words = {})
      : out_(folder / "out"), err_(folder / "err") {
    std::filesystem::remove(out_);
    ProcessCommand command;
    command.program = lact::testing::program_file();
    command.words = {"lact",        "--threads",   "1",   "lm",     "serve", "--model",
                     folder.path(), "--precision", "f32", "--port", "0"};
    command.words.insert(command.words.end(), words.begin(), words.end());
    command.log = err_;
    command.output = out_;
    process_ = std::make_unique<StartedProcess>(command);
    const std::regex line("serving: http://127.0.0.1:([0-9]+)/\n");
    for (int i = 0; i < 3000 && port_ == 0 && !process_->has_ended(); ++i) {
      std::smatch found;
      const std::string out = read_file(out_);
      if (std::regex_search(out, found, line)) port_ = std::stoi(found[1]);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_NE(port_, 0) << read_file(err_);
  }

  ApiClient client(const std::string& key = "") const { return ApiClient(port_, key); }

  int port() const { return port_; }

  /// The exit code after a signal.
  int end_by(int signal) {
    process_->send(signal);
    for (int i = 0; i < 1000 && !process_->has_ended(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return process_->has_ended() ? process_->exit_code() : -1;
  }
  std::string messages() const { return read_file(err_); }

 private:
  std::string out_, err_;
  std::unique_ptr<StartedProcess> process_;
  int port_ = 0;
};

TEST(ServeProgram, ServesUntilASignalAndKeepsItsMemories) {
  const TinyLmFolder folder;
  const std::vector<std::string> words = {"--memory-folder", folder / "memories", "--alias", "mine"};
  const std::string book = "The green key lies in the tower, says Alice.";
  const json ask = {{"prompt", " Where?"}, {"memory", "book"}, {"max_tokens", 8}, {"temperature", 0}};
  json first;
  {
    ServingProgram program(folder, words);
    EXPECT_EQ(program.client().get("/v1/models").json()["data"][0]["id"], "mine");
    EXPECT_EQ(program.client().post("/v1/memories", {{"name", "book"}, {"text", book}}).status, 201);
    first = program.client().post("/completion", ask).json();
    json cold = ask;
    cold["prompt"] = book + " Where?";
    cold.erase("memory");
    EXPECT_EQ(program.client().post("/completion", cold).json()["content"], first["content"]);
    EXPECT_EQ(program.end_by(SIGTERM), 0) << program.messages();
  }
  ServingProgram again(folder, words);
  const json second = again.client().post("/completion", ask).json();
  EXPECT_EQ(second["content"], first["content"]);
  EXPECT_EQ(second["tokens_cached"], book.size());
  EXPECT_EQ(again.end_by(SIGINT), 0) << again.messages();
  EXPECT_THAT(again.messages(), HasSubstr("stopping"));
}

TEST(ServeProgram, ADraftModelChangesNoText) {
  const TinyLmFolder folder;
  const json ask = {{"prompt", "It was a dark"},
                    {"max_tokens", 30},
                    {"temperature", 0.9},
                    {"seed", 3},
                    {"ignore_eos", true}};
  const std::string alone = ServingProgram(folder).client().post("/completion", ask).json()["content"];
  ServingProgram with_draft(folder, {"--draft", folder.path(), "--draft-tokens", "2"});
  const json answer = with_draft.client().post("/completion", ask).json();
  EXPECT_EQ(answer["content"], alone);
  EXPECT_GT(answer["timings"]["draft_n"], 0);
}

TEST(ServeProgram, TheExampleReadsAFileAndPrintsWhatIsWritten) {
  const std::string example =
      (std::filesystem::path(lact::testing::program_file()).parent_path() / "server_client").string();
  if (!std::filesystem::exists(example)) GTEST_SKIP() << "examples/server_client is not built";
  const TinyLmFolder folder;
  ServingProgram program(folder);
  lact::testing::write_file(folder / "book.txt", "The green key lies in the tower.");
  const auto run = [&](const std::string& file) {
    return std::system(fmt::format("'{}' {} '{}' 'Where?' >'{}' 2>'{}'", example, program.port(),
                                   folder / file, folder / "said", folder / "told")
                           .c_str());
  };
  EXPECT_EQ(run("book.txt"), 0) << read_file(folder / "told");
  EXPECT_GT(read_file(folder / "said").size(), 1U);
  EXPECT_THAT(read_file(folder / "told"), HasSubstr("32 of 32 tokens"));
  EXPECT_NE(run("nothing.txt"), 0);
  EXPECT_THAT(read_file(folder / "told"), HasSubstr("nothing.txt cannot be read"));
}

TEST(ServeProgram, MistakesAreKnownBeforeTheModelIsRead) {
  const TinyLmFolder folder;
  const std::string serve = "lm serve --model '" + folder.path() + "' ";
  expect_mistake(serve + "--host nowhere", "[serve] --host is \"nowhere\"");
  expect_mistake(serve + "--port 70000", "--port");
  expect_mistake(serve + "--slots 0", "--slots");
  expect_mistake(serve + "--slot-save-path '" + folder / "nothing" + "'", "--slot-save-path");
  expect_mistake(serve + "--api-key 'two words'", "visible characters");
  expect_mistake(serve + "--api-key-file '" + folder / "nothing" + "'", "cannot be read");
  expect_mistake(serve + "--allow-origin pages", "--allow-origin is \"pages\"");
  expect_mistake(serve + "--chat-template nothing", "--chat-template is \"nothing\"");
  expect_mistake("lm serve --model '" + folder / "nothing" + "'", "nothing");
}

}  // namespace
}  // namespace lact::cli
