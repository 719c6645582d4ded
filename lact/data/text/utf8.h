// UTF-8, strictly: overlong forms, surrogates and code points above U+10FFFF are invalid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lact::data {

/// What stands at the beginning of a text.
struct Utf8Character {
  enum Kind { whole, partial, invalid } kind;
  /// Bytes of the character, of the part that is there, or of the bytes that one U+FFFD stands for.
  size_t bytes;
};

/// `text` is not empty. `partial`: the text ends inside a character that may still become valid.
Utf8Character first_utf8_character(std::string_view text);

/// The place of the first byte that begins no whole valid character; nothing if the text is valid.
std::optional<size_t> find_invalid_utf8(std::string_view text);

/// The length of `text` without a character that its end cuts off.
size_t whole_utf8_characters(std::string_view text);

/// Looks at a text that comes in blocks, which may cut characters.
class Utf8Validator {
 public:
  struct Mistake {
    uint64_t position;  ///< in bytes from the beginning of the first block
    uint8_t byte;
  };
  std::optional<Mistake> push(std::string_view block);
  /// The text has ended: a character that was begun is a mistake.
  std::optional<Mistake> finish() const;

 private:
  std::string begun_;
  uint64_t position_ = 0;  // of begun_
};

/// Makes printable text of bytes that come in any pieces: only whole characters are passed on, and U+FFFD
/// stands for what is invalid.
class Utf8Stream {
 public:
  std::string push(std::string_view bytes);
  /// What is still held back; the stream is empty afterwards.
  std::string finish();

 private:
  std::string begun_;
};

}  // namespace lact::data
