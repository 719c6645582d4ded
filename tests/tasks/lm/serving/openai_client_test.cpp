// A client that others wrote (npm package openai) talks to the server.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <regex>

#include "support/browser.h"
#include "support/places.h"
#include "support/served_lm.h"

namespace lact::tasks::lm {
namespace {

TEST(OpenAiClient, FindsWhatItExpects) {
  if (testing::node_program().empty()) GTEST_SKIP() << "Node (Debian package nodejs) is not installed";
  if (testing::program_among({"npm"}).empty()) GTEST_SKIP() << "npm is not installed";
  const testing::TemporaryFolder folder;
  const std::string source = testing::source_folder() + "/tests/tasks/lm/serving/openai_client/";
  for (const char* name : {".npmrc", "package.json", "package-lock.json", "client.mjs"}) {
    std::filesystem::copy(source + name, folder / name);
  }
  const auto run = [&](const std::string& command) {
    return std::system(("cd '" + folder / "." + "' && " + command + " >log 2>&1").c_str());
  };
  if (run("npm ci --ignore-scripts --prefer-offline --fetch-retries=0 --fetch-timeout=20000") != 0) {
    const std::string log = testing::read_file(folder / "log");
    const std::regex unreachable(
        "ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH");
    if (std::regex_search(log, unreachable)) GTEST_SKIP() << "npm cannot fetch packages here";
    FAIL() << log;
  }
  testing::ServedLm served({.api_key = {"secret"}, .max_tokens_limit = 1'000'000, .slots = 1});
  ASSERT_EQ(
      run(testing::node_program() + " client.mjs http://127.0.0.1:" + std::to_string(served.port()) + "/"), 0)
      << testing::read_file(folder / "log");
}

TEST(OpenAiClient, TheListOfPackagesNamesNoHost) {
  const std::string lock = testing::read_file(testing::source_folder() +
                                              "/tests/tasks/lm/serving/openai_client/package-lock.json");
  EXPECT_EQ(lock.find("\"resolved\""), std::string::npos);
}

}  // namespace
}  // namespace lact::tasks::lm
