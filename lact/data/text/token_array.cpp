#include "lact/data/text/token_array.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <system_error>

#include "lact/base/error.h"
#include "lact/data/text/token_array_format.h"
#include "lact/io/regular_file.h"

namespace lact::data {

static_assert(std::endian::native == std::endian::little, "the format is little endian");

namespace {

void* map_file(const std::string& path, size_t bytes) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  LACT_CHECK(descriptor >= 0, "{}: cannot be opened for reading: {}", path,
             std::generic_category().message(errno));
  void* mapped = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, descriptor, 0);
  const int error = errno;
  close(descriptor);
  LACT_CHECK(mapped != MAP_FAILED, "{}: cannot be mapped into memory: {}", path,
             std::generic_category().message(error));
  return mapped;
}

}  // namespace

TokenArray::TokenArray(const std::string& path) {
  file_bytes_ = io::regular_file_size(path);
  LACT_CHECK(file_bytes_ >= sizeof(TokenFooter) && file_bytes_ % sizeof(uint64_t) == 0,
             "{}: the token file has {} bytes, expected a multiple of 8 from 64", path, file_bytes_);
  bytes_ = map_file(path, file_bytes_);
  try {
    check_contents(path);
  } catch (...) {
    munmap(bytes_, file_bytes_);
    throw;
  }
}

TokenArray::~TokenArray() { munmap(bytes_, file_bytes_); }

void TokenArray::check_contents(const std::string& path) {
  const std::string_view contents(static_cast<const char*>(bytes_), file_bytes_ - sizeof(TokenFooter));
  TokenFooter footer;
  std::memcpy(&footer, contents.data() + contents.size(), sizeof(footer));
  LACT_CHECK(std::memcmp(footer.magic, kTokenFileMagic, sizeof(kTokenFileMagic)) == 0 &&
                 footer.footer_hash == hash_footer(footer),
             "{}: the token file is cut off or corrupt", path);
  LACT_CHECK(footer.version == kTokenFileVersion, "{}: the token file has version {}, expected {}", path,
             footer.version, kTokenFileVersion);
  const uint64_t words = contents.size() / sizeof(uint64_t);
  const uint64_t width = token_width(footer.vocabulary_size);
  const bool fits = footer.token_bytes == width && footer.tokens <= contents.size() &&
                    footer.documents <= words && (footer.tokens * width + 7) / 8 + footer.documents == words;
  LACT_CHECK(fits, "{}: the token file has {} bytes, which does not fit its {} tokens and {} documents", path,
             file_bytes_, footer.tokens, footer.documents);
  Fnv1a hash;
  hash_words(contents, hash);
  LACT_CHECK(hash.value() == footer.contents_hash, "{}: the tokens are corrupt", path);

  is_wide_ = width == 4;
  size_ = static_cast<int64_t>(footer.tokens);
  text_bytes_ = static_cast<int64_t>(footer.text_bytes);
  vocabulary_size_ = static_cast<int64_t>(footer.vocabulary_size);
  hash_ = hash.hex();
  const auto* ends = reinterpret_cast<const uint64_t*>(contents.data()) + (words - footer.documents);
  int64_t begin = 0;
  for (uint64_t i = 0; i < footer.documents; ++i) {
    documents_.push_back({begin, static_cast<int64_t>(ends[i])});
    begin = documents_.back().end;
  }
}

int64_t TokenArray::operator[](int64_t place) const {
  LACT_CHECK(place >= 0 && place < size_, "token {} is not in an array of {} tokens", place, size_);
  return is_wide_ ? static_cast<const uint32_t*>(bytes_)[place] : static_cast<const uint16_t*>(bytes_)[place];
}

void TokenArray::copy(int64_t begin, int64_t count, int64_t* out) const {
  LACT_CHECK(begin >= 0 && count >= 0 && begin <= size_ && count <= size_ - begin,
             "{} tokens from place {} are not in an array of {} tokens", count, begin, size_);
  const auto widen = [&](const auto* tokens) {
    for (int64_t i = 0; i < count; ++i) out[i] = tokens[begin + i];
  };
  if (is_wide_) {
    widen(static_cast<const uint32_t*>(bytes_));
  } else {
    widen(static_cast<const uint16_t*>(bytes_));
  }
}

}  // namespace lact::data
