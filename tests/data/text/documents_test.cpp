#include "lact/data/text/documents.h"

#include <gtest/gtest.h>

#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::data {

namespace {

using testing::TemporaryFolder;
using testing::write_file;

std::vector<std::string> all_documents(const std::string& path, const std::string& text_field = "text") {
  Documents documents(path, text_field);
  std::vector<std::string> texts;
  while (documents.next_document()) {
    texts.emplace_back();
    for (std::string part; documents.next(part);) texts.back() += part;
  }
  return texts;
}

using Texts = std::vector<std::string>;

TEST(Documents, AFileOfTextIsOne) {
  const TemporaryFolder folder;
  write_file(folder / "a.txt", "one\n{\"text\": \"two\"}\n");
  EXPECT_EQ(all_documents(folder / "a.txt"), (Texts{"one\n{\"text\": \"two\"}\n"}));
  write_file(folder / "empty.txt", "");
  EXPECT_EQ(all_documents(folder / "empty.txt"), Texts{});
}

TEST(Documents, AJsonLineIsOne) {
  const TemporaryFolder folder;
  write_file(folder / "a.jsonl",
             "{\"id\": 1, \"text\": \"first\\nline\"}\n"
             "\n"
             "{\"text\": \"caf\\u00e9 \\ud83d\\ude00\", \"meta\": {\"text\": [\"not this\"], \"n\": 1.5}}\r\n"
             "   \n"
             "{\"text\": \"\"}\n"
             "{\"meta\": {\"text\": \"not this\"}, \"text\": \"last, without a line's end\"}");
  EXPECT_EQ(all_documents(folder / "a.jsonl"),
            (Texts{"first\nline", "caf\u00e9 \U0001F600", "last, without a line's end"}));
}

TEST(Documents, AnotherFieldMayHoldTheText) {
  const TemporaryFolder folder;
  write_file(folder / "a.ndjson", "{\"text\": \"no\", \"content\": \"yes\"}\n");
  EXPECT_EQ(all_documents(folder / "a.ndjson", "content"), Texts{"yes"});
  EXPECT_SENTENCE(Documents(folder / "a.ndjson", ""), "the name of the field with the text is empty");
}

TEST(Documents, LineEndsInsideOfTextsAreUnified) {
  const TemporaryFolder folder;
  write_file(folder / "a.jsonl", "\xEF\xBB\xBF{\"text\": \"a\\r\\nb\\rc\"}\r\n");
  EXPECT_EQ(all_documents(folder / "a.jsonl"), Texts{"a\nb\rc"});
}

TEST(Documents, LinesMayBeLongerThanABlockOfTheFile) {
  const TemporaryFolder folder;
  Texts expected;
  std::string lines;
  for (int i = 0; i < 5; ++i) {
    expected.push_back(std::string(700000, char('a' + i)));
    lines += "{\"text\": \"" + expected.back() + "\"}\n";
  }
  write_file(folder / "a.jsonl", lines);
  EXPECT_EQ(all_documents(folder / "a.jsonl"), expected);
}

TEST(Documents, MistakesNameFileAndLine) {
  const TemporaryFolder folder;
  const auto with_line = [&](const std::string& line) {
    write_file(folder / "a.jsonl", "{\"text\": \"good\"}\n\n" + line + "\n{\"text\": \"good\"}\n");
    return folder / "a.jsonl";
  };
  EXPECT_SENTENCE(all_documents(with_line("{\"text\": \"cut")),
                  "a.jsonl: line 3 is not valid JSON, at byte 13");
  EXPECT_SENTENCE(all_documents(with_line("{\"text\": \"a\"} b")),
                  "a.jsonl: line 3 is not valid JSON, at byte 15");
  EXPECT_SENTENCE(all_documents(with_line("{\"text\": \"\\ud800\"}")), "a.jsonl: line 3 is not valid JSON");
  EXPECT_SENTENCE(all_documents(with_line(std::string(100000, '['))), "a.jsonl: line 3 is not valid JSON");
  EXPECT_SENTENCE(all_documents(with_line("[\"text\", \"a\"]")), "a.jsonl: line 3 is not a JSON object");
  EXPECT_SENTENCE(all_documents(with_line("\"text\"")), "a.jsonl: line 3 is not a JSON object");
  EXPECT_SENTENCE(all_documents(with_line("{\"content\": \"a\", \"id\": 1}")),
                  "a.jsonl: line 3 has no field \"text\" (it has: content, id); --text-field names another");
  for (const auto& [value, kind] : {std::pair("7", "a number"),
                                    {"null", "null"},
                                    {"[\"a\"]", "an array"},
                                    {"{\"text\": \"a\"}", "an object"},
                                    {"true", "a boolean"}}) {
    EXPECT_SENTENCE(all_documents(with_line(std::string("{\"text\": ") + value + "}")),
                    std::string("a.jsonl: line 3: the field \"text\" is ") + kind + ", expected a string");
  }
  EXPECT_SENTENCE(all_documents(with_line("{\"text\": \"caf\xE9\"}")),
                  "a.jsonl: byte 31 (0xe9) is not valid UTF-8, in line 3");
}

TEST(Documents, ADeepLineIsNoDanger) {
  const TemporaryFolder folder;
  const size_t depth = 1000000;
  write_file(folder / "a.jsonl",
             "{\"other\": " + std::string(depth, '[') + std::string(depth, ']') + ", \"text\": \"found\"}\n");
  EXPECT_EQ(all_documents(folder / "a.jsonl"), Texts{"found"});
}

TEST(HasJsonLines, IsSaidByTheName) {
  for (const char* name : {"a.jsonl", "b/a.ndjson", "a.jsonl.gz", "a.jsonl.zst", "a.json", "c4.json.gz"})
    EXPECT_TRUE(has_json_lines(name)) << name;
  for (const char* name : {"a.txt", "jsonl", "a.jsonl.txt", "a.gz", "a.zst", "a.jsonl/a.txt"})
    EXPECT_FALSE(has_json_lines(name)) << name;
}

}  // namespace

}  // namespace lact::data
