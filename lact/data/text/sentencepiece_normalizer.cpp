#include "lact/data/text/sentencepiece_normalizer.h"

#include <bit>
#include <cstring>

#include "lact/base/error.h"
#include "lact/data/text/utf8.h"

namespace lact::data {

namespace {

static_assert(std::endian::native == std::endian::little, "the compiled rules are little endian");

// Unicode's own longest has 33 bytes. Without a limit every letter of a text could become a megabyte.
constexpr size_t kLongestReplacement = 256;

// A unit of the double array, as the Darts-clone library packs it.
bool has_value(uint32_t unit) { return ((unit >> 8) & 1) != 0; }
uint32_t value_of(uint32_t unit) { return unit & 0x7FFFFFFFu; }
uint32_t label_of(uint32_t unit) { return unit & 0x800000FFu; }
uint32_t offset_of(uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); }

}  // namespace

SentencePieceNormalizer::SentencePieceNormalizer(const SentencePieceModel& model, const std::string& name)
    : model_(model) {
  const std::string_view map = model.character_map;
  if (map.empty()) return;
  uint32_t trie_bytes = 0;
  LACT_CHECK(map.size() > sizeof(trie_bytes),
             "{}: the normalisation rules have {} bytes, expected more than {}", name, map.size(),
             sizeof(trie_bytes));
  std::memcpy(&trie_bytes, map.data(), sizeof(trie_bytes));
  const size_t available = map.size() - sizeof(trie_bytes);
  LACT_CHECK(trie_bytes % 4 == 0 && trie_bytes > 0 && trie_bytes < available,
             "{}: the table of normalisation rules has {} bytes, expected a multiple of 4 below {}", name,
             trie_bytes, available);
  trie_.resize(trie_bytes / 4);
  std::memcpy(trie_.data(), map.data() + sizeof(trie_bytes), trie_bytes);
  replacements_ = map.substr(sizeof(trie_bytes) + trie_bytes);
  LACT_CHECK(replacements_.back() == '\0', "{}: the normalisation rules do not end with a NUL", name);
  for (size_t begin = 0; begin < replacements_.size();) {
    const size_t end = replacements_.find('\0', begin);
    LACT_CHECK(end - begin <= kLongestReplacement,
               "{}: a normalisation rule puts {} bytes for a character, expected at most {}", name,
               end - begin, kLongestReplacement);
    begin = end + 1;
  }
}

SentencePieceNormalizer::Replaced SentencePieceNormalizer::longest_rule(std::string_view text) const {
  Replaced longest{{}, 0};
  if (trie_.empty()) return longest;
  // Positions come from the file, so each is checked before it is used.
  size_t node = offset_of(trie_[0]);
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    node ^= byte;
    if (node >= trie_.size() || label_of(trie_[node]) != byte) break;
    const uint32_t unit = trie_[node];
    node ^= offset_of(unit);
    if (node >= trie_.size()) break;
    if (!has_value(unit)) continue;
    const uint32_t place = value_of(trie_[node]);
    if (place < replacements_.size()) longest = {replacements_.data() + place, i + 1};
  }
  return longest;
}

SentencePieceNormalizer::Replaced SentencePieceNormalizer::first(std::string_view text) const {
  if (const size_t symbol = model_.user_symbol_at(text); symbol > 0) return {text.substr(0, symbol), symbol};
  if (const Replaced rule = longest_rule(text); rule.consumed > 0) return rule;
  const Utf8Character character = first_utf8_character(text);
  if (character.kind != Utf8Character::whole) return {"\xEF\xBF\xBD", 1};
  return {text.substr(0, character.bytes), character.bytes};
}

std::string SentencePieceNormalizer::run(std::string_view text, bool continues) const {
  std::string result;
  const bool trims = model_.remove_extra_whitespaces;
  bool after_blank = trims && !continues;  // a beginning counts as a blank, so that blanks there are dropped
  bool began = continues;
  while (!text.empty()) {
    auto [piece, consumed] = first(text);
    text.remove_prefix(consumed);
    while (after_blank && !piece.empty() && piece.front() == ' ') piece.remove_prefix(1);
    if (!began) {
      if (trims && piece.empty()) continue;
      if (model_.add_dummy_prefix) result += kBlankMark;
      began = true;
    }
    for (const char byte : piece) {
      if (byte == ' ') {
        result += kBlankMark;
      } else {
        result += byte;
      }
    }
    if (trims && !piece.empty()) after_blank = piece.back() == ' ';
  }
  while (trims && result.ends_with(kBlankMark)) result.resize(result.size() - kBlankMark.size());
  return result;
}

}  // namespace lact::data
