#include "lact/data/text/word_model.h"

#include <bit>
#include <cstdint>
#include <unordered_set>

#include "lact/data/text/sentencepiece_model.h"

namespace lact::data {

namespace {

using Kind = SentencePieceModel::Kind;

// Protobuf: a field begins with its number and how it is stored, 0 a whole number, 2 bytes, 5 four bytes.
std::string whole_number(uint64_t value) {
  std::string bytes;
  for (; value > 127; value >>= 7) bytes += char((value & 127) | 128);
  return bytes + char(value);
}

std::string number_field(uint64_t field, uint64_t value) {
  return whole_number(field << 3) + whole_number(value);
}

std::string bytes_field(uint64_t field, const std::string& value) {
  return whole_number((field << 3) | 2) + whole_number(value.size()) + value;
}

std::string float_field(uint64_t field, float value) {
  std::string bytes = whole_number((field << 3) | 5);
  const auto bits = std::bit_cast<uint32_t>(value);
  for (int shift = 0; shift < 32; shift += 8) bytes += char((bits >> shift) & 255);
  return bytes;
}

std::string piece(const std::string& text, Kind kind) {
  // Any score below zero: a word as one piece is better than as none.
  const float score = kind == Kind::normal ? -1 : 0;
  return bytes_field(1, bytes_field(1, text) + float_field(2, score) + number_field(3, uint64_t(kind)));
}

}  // namespace

std::string word_model(const std::vector<std::string>& words) {
  constexpr uint64_t kUnigram = 1;
  std::string model =
      piece("<unk>", Kind::unknown) + piece("<s>", Kind::control) + piece("</s>", Kind::control);
  std::unordered_set<std::string> seen;
  for (const auto& word : words) {
    if (seen.insert(word).second) model += piece(std::string(kBlankMark) + word, Kind::normal);
  }
  return model + bytes_field(2, number_field(3, kUnigram));
}

}  // namespace lact::data
