// How the built-in text encoder sees a text: words, each known by a hash of itself and by hashes of its
// parts, so that there is no vocabulary and a misspelt or new word is close to what it resembles.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lact::models {

/// Words in lower case, and every mark of punctuation by itself. Bytes that are not ASCII are letters.
std::vector<std::string> split_words(std::string_view text);

/// A number below `buckets`, the same on every machine.
int64_t word_bucket(std::string_view word, int64_t buckets);

/// Runs of 3 to 5 bytes of <word>, each as a number below `buckets`; "<" and ">" mark the ends.
std::vector<int64_t> gram_buckets(std::string_view word, int64_t buckets);

}  // namespace lact::models
