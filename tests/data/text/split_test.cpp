#include "lact/data/text/split.h"

#include <gtest/gtest.h>

#include <set>

#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::data {

namespace {

std::vector<std::string> numbered(int count, const std::string& folder = "a/") {
  std::vector<std::string> files;
  for (int i = 0; i < count; ++i) files.push_back(folder + std::to_string(i) + ".txt");
  return files;
}

TEST(SplitFiles, EachFileIsInOnePart) {
  for (const int count : {2, 3, 10, 100}) {
    const Split split = split_files(numbered(count), 0.1, 1);
    EXPECT_EQ(split.valid.size(), static_cast<size_t>(std::max(1, count / 10)));
    std::vector<std::string> all = split.train;
    all.insert(all.end(), split.valid.begin(), split.valid.end());
    std::sort(all.begin(), all.end());
    auto expected = numbered(count);
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(all, expected);
  }
  EXPECT_EQ(split_files(numbered(2), 0.99, 1).train.size(), 1u);
}

TEST(SplitFiles, ChoiceDependsOnSeedAndNotOnTheFolder) {
  const Split split = split_files(numbered(50), 0.2, 1);
  EXPECT_EQ(split_files(numbered(50), 0.2, 1).valid, split.valid);
  EXPECT_NE(split_files(numbered(50), 0.2, 2).valid, split.valid);
  const Split moved = split_files(numbered(50, "other/"), 0.2, 1);
  for (size_t i = 0; i < split.valid.size(); ++i)
    EXPECT_EQ(moved.valid[i].substr(6), split.valid[i].substr(2));
}

TEST(SplitFiles, ASingleFileIsTrainedOn) {
  EXPECT_EQ(split_files({"a"}, 0.5, 1).train, std::vector<std::string>{"a"});
  EXPECT_TRUE(split_files({"a"}, 0.5, 1).valid.empty());
  EXPECT_SENTENCE(split_files({}, 0.5, 1), "there are no files to split");
  EXPECT_SENTENCE(split_files({"a", "b"}, 1, 1), "the share for validation is 1");
}

TEST(SplitFiles, FilesOfOneNameStayTogether) {
  std::vector<std::string> files;
  for (int i = 0; i < 10; ++i)
    for (const char* folder : {"a/", "b/", "c/"}) files.push_back(folder + std::to_string(i));
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Split split = split_files(files, 0.1, seed);
    EXPECT_EQ(split.valid.size() % 3, 0u);
    EXPECT_GE(split.valid.size(), 3u);
    EXPECT_EQ(split.train.size() + split.valid.size(), files.size());
  }
  EXPECT_TRUE(split_files({"a/x", "b/x"}, 0.5, 1).valid.empty()) << "they cannot be told apart";
}

/// Documents of bytes, each with an end.
class SplitDocuments : public ::testing::Test {
 protected:
  const TokenArray& tokens_of(const std::vector<std::string>& documents) {
    io::write_file_atomically(folder_ / "a.tokens", [&](io::FileWriter& file) {
      TokenArrayWriter writer(file, 256);
      for (const auto& document : documents) {
        writer.append({document.begin(), document.end()});
        writer.end_document(0, document.size());
      }
      writer.finish();
    });
    tokens_ = std::make_unique<TokenArray>(folder_ / "a.tokens");
    return *tokens_;
  }

  std::set<std::string> texts_of(const std::vector<TokenRange>& ranges) {
    std::set<std::string> texts;
    for (const auto& range : ranges) {
      std::string text;
      for (int64_t i = range.begin; i < range.end; ++i) {
        const auto token = char((*tokens_)[i]);
        if (token != 0) text += token;
        if (token == 0) texts.insert(std::exchange(text, ""));
      }
      EXPECT_EQ(text, "") << "a range ends with a document";
    }
    return texts;
  }

  testing::TemporaryFolder folder_;
  std::unique_ptr<TokenArray> tokens_;
};

std::vector<std::string> numbered_texts(int count) {
  std::vector<std::string> texts;
  for (int i = 0; i < count; ++i) texts.push_back("text " + std::to_string(i));
  return texts;
}

TEST_F(SplitDocuments, EachDocumentIsInOnePart) {
  for (const int count : {2, 3, 100}) {
    const auto texts = numbered_texts(count);
    const auto [train, valid] = split_documents(tokens_of(texts), 0.1, 1);
    const auto trained = texts_of(train), kept = texts_of(valid);
    EXPECT_EQ(kept.size(), size_t(std::max(1, count / 10)));
    EXPECT_EQ(trained.size() + kept.size(), size_t(count));
    for (const auto& text : kept) EXPECT_FALSE(trained.contains(text));
  }
}

TEST_F(SplitDocuments, ADocumentThatComesTwiceIsNotInBothParts) {
  std::vector<std::string> texts;
  for (int i = 0; i < 4; ++i)
    for (const auto& text : numbered_texts(25)) texts.push_back(text);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto [train, valid] = split_documents(tokens_of(texts), 0.1, seed);
    const auto trained = texts_of(train), kept = texts_of(valid);
    EXPECT_EQ(kept.size(), 3u) << "12 documents of 100";
    EXPECT_EQ(trained.size(), 22u);
    for (const auto& text : kept) EXPECT_FALSE(trained.contains(text));
  }
}

TEST_F(SplitDocuments, TheChoiceIsOfTheSeedAndNotOfTheOrder) {
  auto texts = numbered_texts(50);
  const auto kept = texts_of(split_documents(tokens_of(texts), 0.2, 1).second);
  EXPECT_NE(texts_of(split_documents(*tokens_, 0.2, 2).second), kept);
  std::reverse(texts.begin(), texts.end());
  EXPECT_EQ(texts_of(split_documents(tokens_of(texts), 0.2, 1).second), kept);
}

TEST_F(SplitDocuments, OfASingleOneTheEndIsKept) {
  const auto [train, valid] = split_documents(tokens_of({"nine bytes"}), 0.2, 1);
  EXPECT_EQ(train, (std::vector<TokenRange>{{0, 9}}));
  EXPECT_EQ(valid, (std::vector<TokenRange>{{9, 11}}));
  EXPECT_TRUE(split_documents(tokens_of({"same", "same"}), 0.5, 1).second.empty());
}

TEST(SplitTokens, TheEndIsKept) {
  EXPECT_EQ(split_tokens(100, 0.1), (std::pair<TokenRange, TokenRange>({0, 90}, {90, 100})));
  EXPECT_EQ(split_tokens(2, 0.001), (std::pair<TokenRange, TokenRange>({0, 1}, {1, 2})));
  EXPECT_SENTENCE(split_tokens(1, 0.1), "there are 1 tokens to split");
  EXPECT_SENTENCE(split_tokens(10, 0), "the share for validation is 0");
}

}  // namespace

}  // namespace lact::data
