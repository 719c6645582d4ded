#include "lact/tasks/lm/serving/api_keys.h"

#include <gtest/gtest.h>

#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::tasks::lm {
namespace {

serve::HttpRequest with(const std::string& name, const std::string& value) {
  serve::HttpRequest request;
  request.headers[name] = value;
  return request;
}

TEST(ApiKeys, AnyOfTheKeysOpens) {
  const ApiKeys keys({"first", "second"});
  EXPECT_TRUE(keys.allow(with("authorization", "Bearer first")));
  EXPECT_TRUE(keys.allow(with("authorization", "bearer second")));
  EXPECT_TRUE(keys.allow(with("x-api-key", "second")));
  for (const char* wrong :
       {"", "Bearer", "Bearer ", "Bearer firs", "Bearer firstfirst", "Bearer FIRST", "first"}) {
    EXPECT_FALSE(keys.allow(with("authorization", wrong))) << wrong;
  }
  EXPECT_FALSE(keys.allow({}));
  EXPECT_TRUE(ApiKeys({}).allow({}));
}

TEST(ApiKeys, ComparesWholeTexts) {
  EXPECT_TRUE(equal_in_constant_time("abc", "abc"));
  EXPECT_TRUE(equal_in_constant_time("", ""));
  for (const char* other : {"", "ab", "abcd", "abd", "xbc", "abcabc"}) {
    EXPECT_FALSE(equal_in_constant_time(other, "abc")) << other;
  }
  EXPECT_FALSE(equal_in_constant_time("abc", ""));
}

TEST(ApiKeys, AFileHoldsOneKeyALine) {
  const testing::TemporaryFolder folder;
  testing::write_file(folder / "keys", "# for the team\none\r\n\ntwo\n");
  EXPECT_EQ(read_api_keys(folder / "keys"), (std::vector<std::string>{"one", "two"}));
  testing::write_file(folder / "none", "# nothing\n");
  EXPECT_SENTENCE(read_api_keys(folder / "none"), "holds no API key");
  EXPECT_SENTENCE(read_api_keys(folder / "absent"), "cannot be read");
  EXPECT_SENTENCE(ApiKeys({"two words"}), "visible characters without blanks");
  EXPECT_SENTENCE(ApiKeys({""}), "1 to 1000");
}

}  // namespace
}  // namespace lact::tasks::lm
