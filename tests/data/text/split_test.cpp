#include "lact/data/text/split.h"

#include <gtest/gtest.h>

#include "support/errors.h"

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

TEST(SplitTokens, TheEndIsKept) {
  EXPECT_EQ(split_tokens(100, 0.1), (std::pair<TokenRange, TokenRange>({0, 90}, {90, 100})));
  EXPECT_EQ(split_tokens(2, 0.001), (std::pair<TokenRange, TokenRange>({0, 1}, {1, 2})));
  EXPECT_SENTENCE(split_tokens(1, 0.1), "there are 1 tokens to split");
  EXPECT_SENTENCE(split_tokens(10, 0), "the share for validation is 0");
}

}  // namespace

}  // namespace lact::data
