// The chat page in a real browser: browser/drive_chat.mjs does what a person would.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "support/browser.h"
#include "support/places.h"
#include "support/served_lm.h"

namespace lact::tasks::lm {
namespace {

TEST(ChatBrowser, TalksReadsATextStopsAndRegeneratesWithoutAComplaint) {
  LACT_NEEDS_BROWSER();
  testing::ServedLm served({.max_tokens_limit = 100'000});
  const testing::TemporaryFolder folder;
  const std::string screenshots = testing::screenshots_folder(folder / "screenshots");
  std::filesystem::create_directories(screenshots);
  const std::string command = testing::node_program() + " '" + testing::source_folder() +
                              "/tests/tasks/lm/serving/browser/drive_chat.mjs' " +
                              testing::browser_program() +
                              " http://127.0.0.1:" + std::to_string(served.port()) + "/ '" + screenshots +
                              "' >'" + folder / "log" + "' 2>&1";
  ASSERT_EQ(std::system(command.c_str()), 0) << testing::read_file(folder / "log");
  EXPECT_GT(std::filesystem::file_size(screenshots + "/chat.png"), 10'000U);
}

}  // namespace
}  // namespace lact::tasks::lm
