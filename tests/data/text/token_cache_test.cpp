#include "lact/data/text/token_cache.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "data/text/sample_text.h"
#include "lact/data/text/cache_folder.h"
#include "support/errors.h"

namespace lact::data {

namespace {

namespace fs = std::filesystem;
using testing::read_file;
using testing::sample_text;
using testing::TemporaryFolder;
using testing::write_file;

class TokenCache : public ::testing::Test {
 protected:
  TokenCache() {
    fs::create_directories(folder_ / "books");
    write_file(folder_ / "books/a.txt", "first text");
    write_file(folder_ / "books/b.txt", "the second");
  }

  std::shared_ptr<TokenArray> open(const Tokenizer& tokenizer = *byte_tokenizer()) {
    messages_.clear();
    CorpusOptions options{{folder_ / "books"},
                          folder_ / "cache",
                          [this](const std::string& message) { messages_ += message + "\n"; },
                          format_};
    return open_corpus(tokenizer, options);
  }

  /// Whether the last open made the tokens, and said why.
  void expect_made(const std::string& reason) {
    EXPECT_THAT(messages_, ::testing::HasSubstr("tokenising"));
    EXPECT_THAT(messages_, ::testing::HasSubstr(reason));
  }

  std::string cache_file(const std::string& ending) {
    for (const auto& entry : fs::directory_iterator(folder_ / "cache")) {
      if (entry.path().extension() == ending) return entry.path().string();
    }
    return "";
  }

  static std::string text_of(const TokenArray& tokens) {
    std::vector<int64_t> copied(tokens.size());
    tokens.copy(0, tokens.size(), copied.data());
    return {copied.begin(), copied.end()};
  }

  TemporaryFolder folder_;
  std::string messages_;
  TextFormat format_;
};

const std::string kBoth("first text\0the second\0", 22);

TEST_F(TokenCache, HoldsAllDocumentsWithAnEndAfterEach) {
  const auto tokens = open();
  EXPECT_EQ(tokens->size(), 22);
  EXPECT_EQ(text_of(*tokens), kBoth);
  EXPECT_EQ((*tokens)[0], 'f');
  EXPECT_EQ((*tokens)[21], 0);
  EXPECT_EQ(tokens->text_bytes(), 20);
  EXPECT_EQ(tokens->documents(), (std::vector<TokenRange>{{0, 11}, {11, 22}}));
  int64_t three[3];
  tokens->copy(11, 3, three);
  EXPECT_EQ(std::string(three, three + 3), "the");
  EXPECT_SENTENCE((*tokens)[22], "token 22 is not in an array of 22 tokens");
  EXPECT_SENTENCE(tokens->copy(20, 3, three), "3 tokens from place 20 are not in an array of 22 tokens");
  EXPECT_SENTENCE(tokens->copy(-1, 1, three), "1 tokens from place -1");
}

TEST_F(TokenCache, IsUsedTheSecondTime) {
  const auto first = open();
  expect_made("a.txt (1 of 2)");
  const auto second = open();
  EXPECT_EQ(messages_, "");
  EXPECT_EQ(text_of(*second), kBoth);
  EXPECT_EQ(second->documents(), first->documents());
  EXPECT_EQ(second->text_bytes(), first->text_bytes());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "cache"), fs::directory_iterator()), 2);
}

TEST_F(TokenCache, ChangedTextIsReadAgain) {
  const auto before = open();
  write_file(folder_ / "books/a.txt", "other text, longer");
  EXPECT_EQ(text_of(*open()).substr(0, 5), "other");
  expect_made("a.txt has changed");
  EXPECT_EQ(text_of(*before), kBoth) << "an array that is open keeps its tokens";
}

TEST_F(TokenCache, ChangedTextOfTheSameSizeIsReadAgain) {
  open();
  write_file(folder_ / "books/a.txt", "FIRST text");
  fs::last_write_time(folder_ / "books/a.txt", fs::file_time_type::clock::now() + std::chrono::seconds(5));
  EXPECT_EQ(text_of(*open()).substr(0, 5), "FIRST");
  expect_made("a.txt has changed");
}

TEST_F(TokenCache, ATimeAloneDoesNotMatter) {
  open();
  const std::string manifest = read_file(cache_file(".json"));
  fs::last_write_time(folder_ / "books/a.txt", fs::file_time_type::clock::now() + std::chrono::seconds(5));
  EXPECT_EQ(text_of(*open()), kBoth);
  EXPECT_EQ(messages_, "");
  EXPECT_NE(read_file(cache_file(".json")), manifest) << "the new time is noted";
}

TEST_F(TokenCache, ANewFileIsNoticed) {
  open();
  write_file(folder_ / "books/c.txt", "third");
  EXPECT_EQ(open()->documents().size(), 3u);
}

TEST_F(TokenCache, DocumentsOfJsonLinesEndLikeFiles) {
  write_file(folder_ / "books/c.jsonl",
             "{\"text\": \"third\", \"title\": \"3\"}\n{\"text\": \"4\", \"title\": \"4th\"}\n");
  const auto tokens = open();
  EXPECT_EQ(text_of(*tokens), kBoth + std::string("third\0"
                                                  "4\0",
                                                  8));
  EXPECT_EQ(tokens->documents(), (std::vector<TokenRange>{{0, 11}, {11, 22}, {22, 28}, {28, 30}}));
  EXPECT_EQ(tokens->text_bytes(), 26);
}

TEST_F(TokenCache, FormatsDoNotMix) {
  write_file(folder_ / "books/c.jsonl",
             "{\"text\": \"third\", \"title\": \"3\"}\n{\"text\": \"4\", \"title\": \"4th\"}\n");
  const auto with_text = text_of(*open());
  format_.text_field = "title";
  EXPECT_EQ(text_of(*open()), kBoth + std::string("3\0"
                                                  "4th\0",
                                                  6));
  expect_made("c.jsonl (3 of 3)");
  format_ = {.end_of_text = false};
  const auto without_ends = open();
  EXPECT_EQ(text_of(*without_ends), "first textthe secondthird4");
  EXPECT_EQ(without_ends->documents(), (std::vector<TokenRange>{{0, 10}, {10, 20}, {20, 25}, {25, 26}}));
  format_ = {};
  EXPECT_EQ(text_of(*open()), with_text);
  EXPECT_EQ(messages_, "") << "each format has its own tokens";
}

TEST_F(TokenCache, AMistakeInALineLeavesNothingBehind) {
  write_file(folder_ / "books/c.jsonl", "{\"text\": \"third\"}\n{\"title\": 1}\n");
  EXPECT_SENTENCE(open(), "c.jsonl: line 2 has no field \"text\"");
  EXPECT_TRUE(fs::is_empty(folder_ / "cache"));
}

TEST_F(TokenCache, TokenizersDoNotMix) {
  if (const auto reason = why_no_training(); !reason.empty()) GTEST_SKIP() << reason;
  open();
  const auto pieces = testing::train_sample(PieceModel::bpe);
  const auto tokens = open(*pieces);
  std::vector<int64_t> copied(tokens->documents()[0].size());
  tokens->copy(0, static_cast<int64_t>(copied.size()), copied.data());
  EXPECT_EQ(copied.back(), pieces->end_of_text());
  EXPECT_EQ(pieces->decode({copied.begin(), copied.end()}), "first text");
  EXPECT_EQ(text_of(*open()), kBoth);
  EXPECT_EQ(messages_, "");
}

TEST_F(TokenCache, DamagedTokensAreMadeAgain) {
  open();
  const std::string path = cache_file(".tokens");
  const std::string whole = read_file(path);
  for (const size_t length :
       {size_t{0}, size_t{8}, size_t{63}, size_t{64}, whole.size() - 8, whole.size() - 1}) {
    write_file(path, whole.substr(0, length));
    EXPECT_EQ(text_of(*open()), kBoth) << length;
    expect_made("is made again");
  }
  for (size_t place = 0; place < whole.size(); place += 3) {
    std::string changed = whole;
    changed[place] = static_cast<char>(changed[place] ^ 0x10);
    write_file(path, changed);
    EXPECT_EQ(text_of(*open()), kBoth) << place;
    expect_made("is made again");
  }
  fs::remove(path);
  EXPECT_EQ(text_of(*open()), kBoth);
  expect_made("does not exist");
}

TEST_F(TokenCache, DamagedManifestIsMadeAgain) {
  open();
  const std::string path = cache_file(".json");
  const std::string whole = read_file(path);
  for (const std::string& damaged :
       {std::string(), whole.substr(0, whole.size() / 2), std::string("{}"), std::string("[1]"),
        std::string("\xFF\x00{", 3), "{\"other\": 1, " + whole.substr(1)}) {
    write_file(path, damaged);
    EXPECT_EQ(text_of(*open()), kBoth) << damaged;
    expect_made("is made again");
    EXPECT_EQ(read_file(path), whole);
  }
  fs::remove(path);
  EXPECT_EQ(text_of(*open()), kBoth) << "tokens without a manifest are not trusted";
  expect_made("tokenising");
}

TEST_F(TokenCache, MistakesInTheTextLeaveNothingBehind) {
  write_file(folder_ / "books/b.txt", "caf\xE9");
  EXPECT_SENTENCE(open(), "b.txt: byte 3 (0xe9) is not valid UTF-8");
  write_file(folder_ / "books/b.txt", "");
  EXPECT_SENTENCE(open(), "b.txt: the file is empty");
  EXPECT_TRUE(fs::is_empty(folder_ / "cache"));
}

TEST_F(TokenCache, LiesBesideTheTextOrWhereTheUserMayWrite) {
  const CorpusOptions options{{folder_ / "books/"}, "", nullptr};
  open_corpus(*byte_tokenizer(), options);
  EXPECT_TRUE(fs::is_directory(folder_ / ".lact-cache"));
  fs::remove_all(folder_ / ".lact-cache");
  const char* before = std::getenv("XDG_CACHE_HOME");
  const std::string kept = before == nullptr ? "" : before;
  setenv("XDG_CACHE_HOME", (folder_ / "user").c_str(), 1);
  fs::create_directory(folder_ / "user");
  fs::permissions(folder_ / "", fs::perms::owner_read | fs::perms::owner_exec);
  const auto tokens = open_corpus(*byte_tokenizer(), options);
  fs::permissions(folder_ / "", fs::perms::owner_all);
  EXPECT_EQ(text_of(*tokens), kBoth);
  EXPECT_TRUE(fs::is_directory(folder_ / "user/lact"));
  EXPECT_FALSE(fs::exists(folder_ / ".lact-cache"));
  const auto folders = cache_folders(folder_ / "books");
  EXPECT_EQ(folders[0], folder_ / ".lact-cache");
  EXPECT_EQ(folders[1], folder_ / "user/lact");
  if (before == nullptr) {
    unsetenv("XDG_CACHE_HOME");
  } else {
    setenv("XDG_CACHE_HOME", kept.c_str(), 1);
  }
}

TEST_F(TokenCache, AChosenFolderThatCannotBeMadeIsASentence) {
  write_file(folder_ / "cache", "a file");
  EXPECT_SENTENCE(open(), "the tokens cannot be kept: no folder of ");
}

TEST(TokenArray, LargeVocabulariesTakeFourBytes) {
  const TemporaryFolder folder;
  for (const int64_t vocabulary : {65536, 65537, 200000}) {
    const std::string path = folder / "a.tokens";
    std::vector<int32_t> written;
    for (int i = 0; i < 1001; ++i) written.push_back(static_cast<int32_t>((i * 7919) % vocabulary));
    written.push_back(static_cast<int32_t>(vocabulary - 1));
    io::write_file_atomically(path, [&](io::FileWriter& file) {
      TokenArrayWriter writer(file, vocabulary);
      writer.append({written.begin(), written.begin() + 3});
      writer.append({written.begin() + 3, written.end()});
      writer.end_document(5, 99);
      writer.finish();
    });
    const TokenArray array(path);
    written.push_back(5);
    ASSERT_EQ(array.size(), static_cast<int64_t>(written.size()));
    for (size_t i = 0; i < written.size(); ++i) ASSERT_EQ(array[static_cast<int64_t>(i)], written[i]);
    EXPECT_EQ(array.text_bytes(), 99);
    EXPECT_EQ(fs::file_size(path), (written.size() * (vocabulary > 65536 ? 4 : 2) + 7) / 8 * 8 + 8 + 64);
  }
}

}  // namespace

}  // namespace lact::data
