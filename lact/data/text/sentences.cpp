#include "lact/data/text/sentences.h"

#include <algorithm>
#include <array>

namespace lact::data {

namespace {

// Only those that are hardly ever the last word of a sentence.
constexpr std::array<std::string_view, 22> kAbbreviations = {
    "Mr.", "Mrs.", "Ms.",  "Dr.", "St.", "Prof.", "Rev.", "Hon.", "Gen.", "Col.", "Capt.",
    "Lt.", "Sgt.", "Gov.", "Sr.", "Jr.", "Mt.",   "e.g.", "i.e.", "cf.",  "vs.",  "viz."};
constexpr std::array<std::string_view, 7> kClosers = {"\"", "'", ")", "]", "}", "\u2019", "\u201D"};

bool is_initial(std::string_view word) {
  return word.size() == 2 && word[0] >= 'A' && word[0] <= 'Z' && word[1] == '.';
}

bool is_abbreviation(std::string_view word) {
  for (const std::string_view opener : {"\"", "'", "(", "[", "{", "\u2018", "\u201C"}) {
    if (word.starts_with(opener)) return is_abbreviation(word.substr(opener.size()));
  }
  return is_initial(word) ||
         std::find(kAbbreviations.begin(), kAbbreviations.end(), word) != kAbbreviations.end();
}

bool ends_sentence(std::string_view word) {
  if (is_abbreviation(word)) return false;
  for (const std::string_view closer : kClosers) {
    if (word.ends_with(closer)) {
      // "(e.g.) this" and "(Mr. and Mrs.) this" go on, too.
      return ends_sentence(word.substr(0, word.size() - closer.size()));
    }
  }
  return word.ends_with('.') || word.ends_with('!') || word.ends_with('?');
}

}  // namespace

std::vector<std::string> split_sentences(std::string_view text) {
  std::vector<std::string> sentences;
  size_t begin = 0, word = 0;
  while (word < text.size()) {
    const size_t end = std::min(text.find(' ', word), text.size());
    if (end == text.size() || ends_sentence(text.substr(word, end - word))) {
      sentences.emplace_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
    word = end + 1;
  }
  return sentences;
}

}  // namespace lact::data
