#include "lact/cli/lm/text.h"

#include <iostream>

#include "lact/base/error.h"
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

void TextPrinter::show(const std::string& characters) {
  text_ += characters;
  if (print_) std::cout << characters << std::flush;
}

void TextPrinter::push(const std::string& bytes) { show(stream_.push(bytes)); }
void TextPrinter::finish() { show(stream_.finish()); }

}  // namespace lact::cli
