#include "lact/data/text/tokenizer.h"

#include <filesystem>

#include "lact/base/error.h"

namespace lact::data {

std::unique_ptr<Tokenizer> read_tokenizer(const std::string& word_or_path) {
  namespace fs = std::filesystem;
  LACT_CHECK(!word_or_path.empty(), "the tokenizer is \"\", expected \"bytes\" or a SentencePiece file");
  if (word_or_path == "bytes") return byte_tokenizer();
  std::error_code ignored;
  if (fs::is_directory(word_or_path, ignored)) {
    const fs::path inside = fs::path(word_or_path) / "tokenizer.model";
    LACT_CHECK(fs::exists(inside, ignored), "{}: the folder holds no tokenizer.model", word_or_path);
    return sentencepiece_tokenizer(inside.string());
  }
  LACT_CHECK(fs::exists(word_or_path, ignored),
             "{}: does not exist; a tokenizer is the word \"bytes\", a SentencePiece file or a folder with "
             "tokenizer.model",
             word_or_path);
  return sentencepiece_tokenizer(word_or_path);
}

}  // namespace lact::data
