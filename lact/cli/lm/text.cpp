#include "lact/cli/lm/text.h"

#include <iostream>

#include "lact/base/error.h"
#include "lact/data/text/encode.h"
#include "lact/data/text/text_file.h"

namespace lact::cli {

std::string read_text(const std::string& path, size_t longest) {
  data::TextFile file(path);
  std::string text, block;
  while (file.next(block)) {
    text += block;
    LACT_CHECK(text.size() <= longest, "{}: has more than {} bytes; read longer texts with lact lm ingest",
               path, longest);
  }
  return text;
}

void check_utf8(const std::string& text, const std::string& what) {
  if (const auto place = data::find_invalid_utf8(text)) {
    fail("[text] byte {} of {} (0x{:02x}) is not valid UTF-8", *place, what, uint8_t(text[*place]));
  }
}

uint64_t read_in_chunks(const tasks::lm::Loaded& lm, const std::string& file,
                        const std::function<void(std::span<const int64_t>)>& on_chunk) {
  // Small pieces of text, so that memory does not depend on the length.
  constexpr data::PieceSizes kPieces = {.usual = 1024};
  const auto chunk = size_t(lm.model->config().chunk_size);
  std::vector<int64_t> pending;
  const auto add = [&](const std::vector<int32_t>& tokens) {
    for (const int32_t token : tokens) {
      pending.push_back(token);
      if (pending.size() < chunk) continue;
      on_chunk(pending);
      pending.clear();
    }
  };
  const uint64_t bytes = data::encode_file(*lm.tokenizer, file, add, kPieces).bytes;
  on_chunk(pending);
  return bytes;
}

std::vector<int64_t> to_ids(const std::vector<int32_t>& tokens) { return {tokens.begin(), tokens.end()}; }

models::Vocabulary vocabulary_of(const data::Tokenizer& tokenizer) {
  return {tokenizer.end_of_text(), [&tokenizer](int64_t token) {
            // A model may have more tokens than its tokenizer, for padding.
            return token < tokenizer.vocabulary_size() ? tokenizer.token_bytes(int32_t(token))
                                                       : std::string();
          }};
}

void TextPrinter::show(const std::string& characters) {
  text_ += characters;
  if (print_) std::cout << characters << std::flush;
}

void TextPrinter::push(const std::string& bytes) { show(stream_.push(bytes)); }
void TextPrinter::finish() { show(stream_.finish()); }

}  // namespace lact::cli
