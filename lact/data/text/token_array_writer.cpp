#include "lact/base/error.h"
#include "lact/data/text/token_array.h"
#include "lact/data/text/token_array_format.h"

namespace lact::data {

TokenArrayWriter::TokenArrayWriter(io::FileWriter& file, int64_t vocabulary_size)
    : file_(file), vocabulary_size_(vocabulary_size) {}

void TokenArrayWriter::append(const std::vector<int32_t>& tokens) {
  const size_t width = token_width(vocabulary_size_);
  for (const int32_t token : tokens) {
    LACT_ASSERT(token >= 0 && token < vocabulary_size_);
    pending_.append(reinterpret_cast<const char*>(&token), width);  // little endian: the low bytes come first
  }
  tokens_ += static_cast<int64_t>(tokens.size());
  const size_t rest = pending_.size() % sizeof(uint64_t);
  const std::string kept = pending_.substr(pending_.size() - rest);
  pending_.resize(pending_.size() - rest);
  write_words(pending_);
  pending_ = kept;
}

void TokenArrayWriter::end_document(std::optional<int32_t> end_of_text, uint64_t text_bytes) {
  if (end_of_text) append({*end_of_text});
  text_bytes_ += text_bytes;
  document_ends_.push_back(static_cast<uint64_t>(tokens_));
}

std::string TokenArrayWriter::finish() {
  pending_.resize((pending_.size() + 7) / 8 * 8, '\0');
  write_words(pending_);
  write_words(
      {reinterpret_cast<const char*>(document_ends_.data()), document_ends_.size() * sizeof(uint64_t)});
  TokenFooter footer{};
  std::memcpy(footer.magic, kTokenFileMagic, sizeof(kTokenFileMagic));
  footer.version = kTokenFileVersion;
  footer.token_bytes = static_cast<uint32_t>(token_width(vocabulary_size_));
  footer.tokens = static_cast<uint64_t>(tokens_);
  footer.documents = document_ends_.size();
  footer.text_bytes = text_bytes_;
  footer.vocabulary_size = static_cast<uint64_t>(vocabulary_size_);
  footer.contents_hash = hash_.value();
  footer.footer_hash = hash_footer(footer);
  file_.write(&footer, sizeof(footer));
  return hash_.hex();
}

void TokenArrayWriter::write_words(const std::string& bytes) {
  hash_words(bytes, hash_);
  file_.write(bytes);
}

}  // namespace lact::data
