#include "lact/data/text/encode.h"

#include <algorithm>
#include <utility>

#include "lact/base/error.h"
#include "lact/data/text/documents.h"
#include "lact/data/text/utf8.h"

namespace lact::data {

namespace {

constexpr size_t kNone = 0;

/// Whether a character that begins with `lead` surely is no blank of any kind, also after normalisation.
bool is_dark(char lead) {
  const auto byte = static_cast<uint8_t>(lead);
  // The Unicode blanks and U+2581, the mark of a blank, begin with one of these four.
  const bool may_be_blank = byte == 0xC2 || byte == 0xE1 || byte == 0xE2 || byte == 0xE3;
  return byte > ' ' && byte != 0x7F && !may_be_blank;
}

bool is_lone_blank(std::string_view text, size_t place) {
  if (text[place] != ' ' || !is_dark(text[place + 1])) return false;
  size_t before = place - 1;
  while (before > 0 && (static_cast<uint8_t>(text[before]) & 0xC0) == 0x80) --before;
  return is_dark(text[before]);
}

}  // namespace

StreamEncoder::StreamEncoder(const Tokenizer& tokenizer, TokenSink sink, PieceSizes sizes)
    : tokenizer_(tokenizer), sink_(std::move(sink)), sizes_(sizes) {
  constexpr size_t kLongestCharacter = 4;
  LACT_ASSERT(sizes.usual > 0 && sizes.longest >= std::max(sizes.usual, kLongestCharacter));
}

void StreamEncoder::push(std::string_view block) {
  pending_ += block;
  std::string_view rest = pending_;
  while (const size_t cut = find_cut(rest)) {
    encode(rest.substr(0, cut));
    rest.remove_prefix(cut);
    searched_ = 0;
  }
  pending_.erase(0, pending_.size() - rest.size());
}

void StreamEncoder::finish() {
  if (!pending_.empty()) encode(pending_);
  pending_.clear();
  searched_ = 0;
  at_beginning_ = true;
}

/// Where the first piece of `text` ends, or kNone if more text is needed to say.
size_t StreamEncoder::find_cut(std::string_view text) {
  if (tokenizer_.blanks_are_borders()) {
    size_t place = std::max(sizes_.usual, searched_);
    for (; place <= sizes_.longest && place + 1 < text.size(); ++place) {
      if (is_lone_blank(text, place)) return place;
    }
    searched_ = place;
  }
  // One byte more than the longest piece, so that a blank behind it has been looked at.
  if (text.size() < sizes_.longest + 2) return kNone;
  return whole_utf8_characters(text.substr(0, sizes_.longest));
}

void StreamEncoder::encode(std::string_view piece) {
  const auto tokens = at_beginning_ ? tokenizer_.encode(piece) : tokenizer_.encode_continuation(piece);
  at_beginning_ = false;
  if (!tokens.empty()) sink_(tokens);
}

EncodedFile encode_file(const Tokenizer& tokenizer, const std::string& path, const std::string& text_field,
                        const TokenSink& sink, const DocumentEnd& on_end, PieceSizes sizes) {
  Documents documents(path, text_field);
  StreamEncoder encoder(tokenizer, sink, sizes);
  uint64_t all_bytes = 0;
  while (documents.next_document()) {
    uint64_t bytes = 0;
    for (std::string part; documents.next(part);) {
      bytes += part.size();
      encoder.push(part);
    }
    encoder.finish();
    all_bytes += bytes;
    if (on_end) on_end(bytes);
  }
  LACT_CHECK(all_bytes > 0, "{}: the file is empty", path);
  return {all_bytes, documents.hash()};
}

}  // namespace lact::data
