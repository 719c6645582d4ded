// The footer of a token file; token_array.h describes the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "lact/base/fnv.h"

namespace lact::data {

constexpr char kTokenFileMagic[8] = {'l', 'a', 'c', 't', 't', 'o', 'k', '\n'};
constexpr uint32_t kTokenFileVersion = 1;

struct TokenFooter {
  char magic[8];
  uint32_t version;
  uint32_t token_bytes;  // 2 or 4
  uint64_t tokens, documents, text_bytes, vocabulary_size;
  uint64_t contents_hash;  // of all words before the footer
  uint64_t footer_hash;    // of the fields above
};
static_assert(sizeof(TokenFooter) == 64);

inline uint64_t hash_footer(const TokenFooter& footer) {
  Fnv1a hash;
  hash.update({reinterpret_cast<const char*>(&footer), offsetof(TokenFooter, footer_hash)});
  return hash.value();
}

inline uint64_t token_width(uint64_t vocabulary_size) { return vocabulary_size <= 65536 ? 2 : 4; }

inline void hash_words(std::string_view bytes, Fnv1a& hash) {
  uint64_t word;
  for (size_t i = 0; i + sizeof(word) <= bytes.size(); i += sizeof(word)) {
    std::memcpy(&word, bytes.data() + i, sizeof(word));
    hash.update_word(word);
  }
}

}  // namespace lact::data
