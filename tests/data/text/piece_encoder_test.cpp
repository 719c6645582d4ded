#include "lact/data/text/piece_encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lact::data {
namespace {

using ::testing::ElementsAre;

SentencePieceModel model_of(const std::vector<SentencePieceModel::Piece>& pieces) {
  SentencePieceModel model;
  model.pieces = {{"<unk>", 0, SentencePieceModel::Kind::unknown}};
  model.pieces.insert(model.pieces.end(), pieces.begin(), pieces.end());
  model.unknown = 0;
  return model;
}

std::vector<std::string> texts(const std::vector<FoundPiece>& found) {
  std::vector<std::string> all;
  for (const auto& piece : found) all.emplace_back(piece.text);
  return all;
}

TEST(BpeEncoder, TheHighestScoreIsMergedFirst) {
  const auto model = model_of({{"a", 0}, {"b", 0}, {"c", 0}, {"ab", -2}, {"bc", -1}});
  EXPECT_THAT(texts(bpe_encoder(model)->encode("abc")), ElementsAre("a", "bc"));
}

TEST(BpeEncoder, OfEqualScoresTheLeftmostIsMergedFirst) {
  const auto model = model_of({{"a", 0}, {"aa", -1}});
  EXPECT_THAT(texts(bpe_encoder(model)->encode("aaa")), ElementsAre("aa", "a"));
  EXPECT_THAT(texts(bpe_encoder(model)->encode("aaaaa")), ElementsAre("aa", "aa", "a"));
}

TEST(UnigramEncoder, TheBestSumOfScoresWins) {
  const auto model = model_of({{"a", -1}, {"b", -1}, {"ab", -1.5}, {"abb", -4}});
  EXPECT_THAT(texts(unigram_encoder(model)->encode("abb")), ElementsAre("ab", "b"));
}

// A character without a piece costs as much as the worst piece and 10 more.
TEST(UnigramEncoder, AnUnknownCharacterIsTheLastResort) {
  const auto model = model_of({{"a", 3}, {"ab", -5}});
  EXPECT_THAT(texts(unigram_encoder(model)->encode("ab")), ElementsAre("ab"));
  const auto tempting = model_of({{"a", 11}, {"ab", -5}});
  const auto found = unigram_encoder(tempting)->encode("ab");
  ASSERT_THAT(texts(found), ElementsAre("a", "b"));
  EXPECT_EQ(found[1].piece, 0);
}

}  // namespace
}  // namespace lact::data
