#include "lact/base/json_text.h"

#include <gtest/gtest.h>

#include "lact/base/options.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact {
namespace {

std::string nested(int depth, const std::string& open, const std::string& close) {
  std::string text;
  for (int i = 0; i < depth; ++i) text += open;
  text += "1";
  for (int i = 0; i < depth; ++i) text += close;
  return text;
}

TEST(JsonText, TakesWhatLiesWithinTheDepth) {
  EXPECT_EQ(parse_json("{\"a\": [1, {\"b\": null}]}", "file")["a"][1].dump(), "{\"b\":null}");
  EXPECT_TRUE(try_parse_json(nested(kDeepestJson, "[", "]")));
  EXPECT_TRUE(try_parse_json(nested(kDeepestJson, "{\"a\":", "}")));
}

TEST(JsonText, DeeperNestsAreSentencesAndNotTheEndOfTheStack) {
  for (const int depth : {kDeepestJson + 1, 1000, 3'000'000}) {
    EXPECT_SENTENCE(parse_json(nested(depth, "[", "]"), "a.json"),
                    "a.json: its JSON is nested more than 64 deep");
    EXPECT_FALSE(try_parse_json(nested(depth, "{\"a\":", "}")));
    EXPECT_FALSE(try_parse_json(nested(depth, "[", "")));
  }
}

TEST(JsonText, ConfigsAndAssignmentsUseIt) {
  const testing::TemporaryFolder folder;
  testing::write_file(folder / "deep.json", "{\"model_dim\": " + nested(1'000'000, "[", "]") + "}");
  EXPECT_SENTENCE(options::read_json_file(folder / "deep.json"),
                  "deep.json: its JSON is nested more than 64 deep");
  // What is no JSON counts as a string.
  EXPECT_EQ(options::parse_assignment("a.b=" + nested(1'000'000, "[", "]"))["a"]["b"].is_string(), true);
  EXPECT_EQ(options::parse_assignment("a=[[1]]")["a"].dump(), "[[1]]");
}

TEST(JsonText, OtherMistakesNameTheByte) {
  EXPECT_SENTENCE(parse_json("{\"a\": }", "x"), "x: not valid JSON at byte 7");
  EXPECT_SENTENCE(parse_json("", "x"), "x: not valid JSON at byte 1");
  EXPECT_SENTENCE(parse_json("1e999", "x"), "x: not valid JSON");
  EXPECT_FALSE(try_parse_json("nul"));
}

TEST(JsonText, ShownValuesStayShort) {
  EXPECT_EQ(shown_json({1, 2, {{"a", "b"}}}), "[1,2,{\"a\":\"b\"}]");
  EXPECT_EQ(shown_json(std::string(1000, 'x')).size(), 63u);
  EXPECT_EQ(shown_json(nlohmann::ordered_json(std::vector<int>(100, 7))), "a list of 100 entries");
  EXPECT_EQ(shown_json("a\nb\xff"), "\"a\\nb\xef\xbf\xbd\"");
}

}  // namespace
}  // namespace lact
