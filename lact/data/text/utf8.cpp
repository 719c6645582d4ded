#include "lact/data/text/utf8.h"

#include <algorithm>
#include <cstring>

namespace lact::data {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

struct Lead {
  size_t bytes;                       // 0: begins no character
  uint8_t second_least, second_most;  // the second byte excludes overlong forms, surrogates, > U+10FFFF
};

Lead read_lead(uint8_t byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte < 0xF0) {
    return {3, static_cast<uint8_t>(byte == 0xE0 ? 0xA0 : 0x80),
            static_cast<uint8_t>(byte == 0xED ? 0x9F : 0xBF)};
  }
  if (byte < 0xF5) {
    return {4, static_cast<uint8_t>(byte == 0xF0 ? 0x90 : 0x80),
            static_cast<uint8_t>(byte == 0xF4 ? 0x8F : 0xBF)};
  }
  return {0, 0, 0};
}

/// How many bytes at the beginning are ASCII, counted in steps of eight.
size_t skip_ascii(std::string_view text) {
  size_t count = 0;
  for (uint64_t word; count + sizeof(word) <= text.size(); count += sizeof(word)) {
    std::memcpy(&word, text.data() + count, sizeof(word));
    if ((word & 0x8080808080808080u) != 0) break;
  }
  return count;
}

/// The place of the first character that is not whole.
size_t skip_whole(std::string_view text) {
  size_t position = 0;
  while (position < text.size()) {
    position += skip_ascii(text.substr(position));
    if (position == text.size()) break;
    const Utf8Character character = first_utf8_character(text.substr(position));
    if (character.kind != Utf8Character::whole) break;
    position += character.bytes;
  }
  return position;
}

}  // namespace

Utf8Character first_utf8_character(std::string_view text) {
  const Lead lead = read_lead(static_cast<uint8_t>(text[0]));
  if (lead.bytes == 0) return {Utf8Character::invalid, 1};
  const size_t available = std::min(lead.bytes, text.size());
  for (size_t i = 1; i < available; ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    const bool fits = i == 1 ? byte >= lead.second_least && byte <= lead.second_most : (byte & 0xC0) == 0x80;
    if (!fits) return {Utf8Character::invalid, i};
  }
  return {available == lead.bytes ? Utf8Character::whole : Utf8Character::partial, available};
}

std::optional<size_t> find_invalid_utf8(std::string_view text) {
  const size_t position = skip_whole(text);
  if (position == text.size()) return std::nullopt;
  return position;
}

size_t whole_utf8_characters(std::string_view text) {
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
    const size_t begin = text.size() - back;
    if ((static_cast<uint8_t>(text[begin]) & 0xC0) == 0x80) continue;
    return first_utf8_character(text.substr(begin)).kind == Utf8Character::partial ? begin : text.size();
  }
  return text.size();
}

std::optional<Utf8Validator::Mistake> Utf8Validator::push(std::string_view block) {
  // A begun character is completed byte by byte; after that the block is read in place.
  while (!begun_.empty() && !block.empty()) {
    begun_ += block.front();
    block.remove_prefix(1);
    const Utf8Character character = first_utf8_character(begun_);
    if (character.kind == Utf8Character::invalid) return Mistake{position_, static_cast<uint8_t>(begun_[0])};
    if (character.kind == Utf8Character::whole) {
      position_ += begun_.size();
      begun_.clear();
    }
  }
  const size_t whole = skip_whole(block);
  position_ += whole;
  block.remove_prefix(whole);
  if (block.empty()) return std::nullopt;
  if (first_utf8_character(block).kind == Utf8Character::invalid) {
    return Mistake{position_, static_cast<uint8_t>(block[0])};
  }
  begun_ = block;
  return std::nullopt;
}

std::optional<Utf8Validator::Mistake> Utf8Validator::finish() const {
  if (begun_.empty()) return std::nullopt;
  return Mistake{position_, static_cast<uint8_t>(begun_[0])};
}

std::string Utf8Stream::push(std::string_view bytes) {
  begun_ += bytes;
  std::string text;
  std::string_view rest = begun_;
  while (!rest.empty()) {
    const Utf8Character character = first_utf8_character(rest);
    if (character.kind == Utf8Character::partial) break;
    text += character.kind == Utf8Character::whole ? rest.substr(0, character.bytes) : kReplacement;
    rest.remove_prefix(character.bytes);
  }
  begun_ = std::string(rest);
  return text;
}

std::string Utf8Stream::finish() {
  const bool cut_off = !begun_.empty();
  begun_.clear();
  return std::string(cut_off ? kReplacement : "");
}

}  // namespace lact::data
