#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lact/tasks/lm/serving/lm_server.h"
#include "support/places.h"
#include "support/temporary_folder.h"

namespace lact::tasks::lm {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ChatPage, TheProgramHoldsTheCommittedPage) {
  EXPECT_EQ(chat_page(), testing::read_file(testing::source_folder() + "/web/dist/chat.html"));
}

TEST(ChatPage, LoadsNothing) {
  std::string page(chat_page());
  const std::string svg_name = "http://www.w3.org/2000/svg";
  page.erase(page.find(svg_name), svg_name.size());
  EXPECT_THAT(page, Not(HasSubstr("http://")));
  EXPECT_THAT(page, Not(HasSubstr("https://")));
  EXPECT_THAT(page, Not(::testing::ContainsRegex("(src|@import|import)[=( ]")));
}

}  // namespace
}  // namespace lact::tasks::lm
