#include "lact/models/video/words.h"

#include "lact/base/fnv.h"
#include "lact/base/random.h"

namespace lact::models {

namespace {

constexpr size_t kShortestGram = 3, kLongestGram = 5;
constexpr uint64_t kWordSalt = 1, kGramSalt = 2;

bool is_blank(unsigned char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

bool is_letter(unsigned char byte) {
  return byte >= 0x80 || (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z');
}

char in_lower_case(char byte) { return byte >= 'A' && byte <= 'Z' ? char(byte - 'A' + 'a') : byte; }

int64_t hash_bucket(std::string_view bytes, uint64_t salt, int64_t buckets) {
  Fnv1a hash;
  hash.update(bytes);
  return int64_t(mix(hash.value(), salt) % uint64_t(buckets));
}

}  // namespace

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  bool inside = false;
  for (const char original : text) {
    const char byte = in_lower_case(original);
    if (is_blank(static_cast<unsigned char>(byte))) {
      inside = false;
      continue;
    }
    const bool letter = is_letter(static_cast<unsigned char>(byte));
    if (!(letter && inside)) words.emplace_back();
    words.back() += byte;
    inside = letter;
  }
  return words;
}

int64_t word_bucket(std::string_view word, int64_t buckets) { return hash_bucket(word, kWordSalt, buckets); }

std::vector<int64_t> gram_buckets(std::string_view word, int64_t buckets) {
  const std::string marked = "<" + std::string(word) + ">";
  std::vector<int64_t> result;
  for (size_t length = kShortestGram; length <= kLongestGram; ++length)
    for (size_t begin = 0; begin + length <= marked.size(); ++begin)
      result.push_back(hash_bucket(std::string_view(marked).substr(begin, length), kGramSalt, buckets));
  return result;
}

}  // namespace lact::models
