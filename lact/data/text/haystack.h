// Plain English made from nothing but this source: words for keys and prose to hide things in, so that the
// needle tasks need no download.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lact::data {

/// Lower-case words without blanks or hyphens, sorted, each once. Nouns are singular and can be counted.
const std::vector<std::string>& adjectives();
const std::vector<std::string>& nouns();

/// Prose of at least `words` words that ends with a sentence: full sentences in paragraphs, without digits.
/// The same on every platform; a shorter text of a seed is the beginning of a longer one. It never says
/// "special magic", the words by which a needle is known.
std::string essay_text(uint64_t seed, int64_t words);

}  // namespace lact::data
