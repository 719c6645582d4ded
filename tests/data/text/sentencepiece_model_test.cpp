#include "lact/data/text/sentencepiece_model.h"

#include <gtest/gtest.h>

#include "lact/base/random.h"
#include "lact/data/text/sentencepiece_normalizer.h"
#include "support/errors.h"

namespace lact::data {
namespace {

/// A field of a protobuf message that holds bytes.
std::string message_field(int number, const std::string& bytes) {
  std::string length;
  for (size_t left = bytes.size(); true; left >>= 7) {
    length += char((left & 0x7f) | (left > 0x7f ? 0x80 : 0));
    if (left <= 0x7f) break;
  }
  return std::string{char(number << 3 | 2)} + length + bytes;
}

std::string message_piece(const std::string& text, char kind) {
  return message_field(1, message_field(1, text) + std::string{char(3 << 3), kind});
}

TEST(SentencePieceModel, TheLongestUserSymbolIsFound) {
  Random random(5);
  for (int trial = 0; trial < 200; ++trial) {
    const auto word = [&](int64_t longest) {
      std::string text;
      for (int64_t i = 1 + random.below(longest); i > 0; --i) text += char('a' + random.below(3));
      return text;
    };
    SentencePieceModel model;
    for (int64_t i = random.below(8); i > 0; --i) {
      const std::string symbol = word(5);
      model.user_symbols.insert(symbol);
      model.longest_user_symbol = std::max(model.longest_user_symbol, symbol.size());
    }
    const std::string text = word(9);
    size_t expected = 0;
    for (const auto& symbol : model.user_symbols)
      if (text.starts_with(symbol)) expected = std::max(expected, symbol.size());
    EXPECT_EQ(model.user_symbol_at(text), expected) << text;
  }
}

TEST(SentencePieceModel, LongPiecesAreRefused) {
  const std::string unknown = message_piece("<unk>", 2);
  EXPECT_EQ(
      parse_sentencepiece_model(unknown + message_piece(std::string(4096, 'x'), 4), "a.model").pieces.size(),
      2u);
  EXPECT_SENTENCE(parse_sentencepiece_model(unknown + message_piece(std::string(4097, 'x'), 4), "a.model"),
                  "a.model: a piece has 4097 bytes, expected at most 4096");
}

TEST(SentencePieceModel, ARuleDoesNotMakeAMegabyteOfALetter) {
  const auto normalizer = [](size_t bytes) {
    SentencePieceModel model;
    const uint32_t trie_bytes = 4;
    model.character_map = std::string(reinterpret_cast<const char*>(&trie_bytes), 4) + std::string(4, '\0') +
                          "a" + '\0' + std::string(bytes, 'x') + '\0';
    return SentencePieceNormalizer(model, "a.model");
  };
  EXPECT_NO_THROW(normalizer(256));
  EXPECT_SENTENCE(normalizer(1 << 20), "a.model: a normalisation rule puts 1048576 bytes for a character");
}

}  // namespace
}  // namespace lact::data
