// The contents of a SentencePiece file: one protobuf message, read here without the protobuf library. The
// system's libsentencepiece brings a protobuf of its own that clashes with LibTorch's when both are linked,
// so encoding does without it.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace lact::data {

/// Stands for a blank inside pieces: U+2581.
constexpr std::string_view kBlankMark = "\xE2\x96\x81";

struct SentencePieceModel {
  enum class Kind { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };
  struct Piece {
    std::string text;
    float score = 0;
    Kind kind = Kind::normal;
  };

  std::vector<Piece> pieces;
  int32_t unknown = -1;
  int32_t end_of_sentence = -1;  // -1: none
  bool is_bpe = false;           // otherwise unigram
  bool byte_fallback = false;
  std::array<int32_t, 256> byte_pieces{};  // only with byte_fallback

  std::string character_map;  // compiled normalisation rules; "" leaves characters as they are
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;

  std::set<std::string, std::less<>> user_symbols;
  size_t longest_user_symbol = 0;

  /// The length of the longest user-defined symbol that `text` begins with, or 0.
  size_t user_symbol_at(std::string_view text) const;
  /// Whether text can be matched to the piece: control, unknown and byte pieces are never found in text.
  bool is_text(const Piece& piece) const;
};

/// Reads and checks a model; a mistake is a sentence that begins with `name`.
SentencePieceModel parse_sentencepiece_model(std::string_view bytes, const std::string& name);

}  // namespace lact::data
