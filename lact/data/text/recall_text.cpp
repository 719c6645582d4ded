#include "lact/data/text/recall_text.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>

#include "lact/base/error.h"
#include "lact/base/random.h"
#include "lact/data/text/haystack.h"

namespace lact::data {

namespace {

constexpr int64_t kMostWords = 1024;

/// Invented words of two or three syllables, all different, the same for ever.
std::vector<std::string> invented_words(int64_t count, uint64_t seed, bool capital) {
  static const std::vector<std::string> heads = {"b", "d", "f", "g", "k", "l", "m",
                                                 "n", "p", "r", "s", "t", "v"};
  static const std::vector<std::string> vowels = {"a", "e", "i", "o", "u"};
  Random random(seed);
  std::vector<std::string> words;
  while (int64_t(words.size()) < count) {
    std::string word;
    const int64_t syllables = capital ? 3 : 2;
    for (int64_t i = 0; i < syllables; ++i) {
      const std::string vowel = random.choice(vowels);  // an order of draws that no compiler can change
      word += random.choice(heads) + vowel;
    }
    word += capital ? "" : random.choice(heads);
    if (capital) word[0] = char(word[0] - 'a' + 'A');
    if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
  }
  return words;
}

struct Lexicon {
  std::vector<std::string> names, things, adjectives, nouns;
};

Lexicon lexicon(const RecallTextOptions& options) {
  const auto some = [](const std::vector<std::string>& words, size_t count) {
    return std::vector<std::string>(words.begin(), words.begin() + int64_t(std::min(count, words.size())));
  };
  return {invented_words(options.names, 11, true), invented_words(options.things, 12, false),
          some(adjectives(), 12), some(nouns(), 24)};
}

void say(RecallText& text, std::initializer_list<std::string> words) {
  text.words.insert(text.words.end(), words);
}

}  // namespace

void RecallTextOptions::check() const {
  const auto between = [](const char* name, int64_t value, int64_t least, int64_t most) {
    LACT_CHECK(value >= least && value <= most, "[data] {} is {}, expected {} to {}", name, value, least,
               most);
  };
  between("names", names, 2, kMostWords);
  between("things", things, 2, kMostWords);
  between("facts", facts, 2, names);
  LACT_CHECK(filler >= 0 && filler <= 0.95, "[data] filler is {}, expected 0 to 0.95", filler);
}

std::string RecallText::text() const { return fmt::format("{}", fmt::join(words, " ")); }

RecallText recall_text(const RecallTextOptions& options, uint64_t seed, int64_t words) {
  const Lexicon known = lexicon(options);
  Random random(seed);
  std::vector<std::string> names = known.names;
  random.shuffle(names);
  const int64_t facts = options.vary ? 2 + random.below(options.facts - 1) : options.facts;

  struct Fact {
    std::string name, thing;
    int64_t mentioned;
  };
  std::vector<Fact> told;
  RecallText text;
  while (int64_t(text.words.size()) < words) {
    if (random.uniform() < options.filler) {
      say(text, {"the", random.choice(known.adjectives), random.choice(known.nouns), "."});
      continue;
    }
    const bool tell = told.empty() || (int64_t(told.size()) < facts && random.below(5) < 2);
    if (tell) {
      const Fact fact = {names[told.size()], random.choice(known.things), int64_t(text.words.size()) + 1};
      say(text, {"note", fact.thing, fact.name});
      told.push_back(fact);
    } else {
      Fact& fact = told[size_t(random.below(int64_t(told.size())))];
      const int64_t place = int64_t(text.words.size()) + 1;
      text.answers.push_back({place, std::exchange(fact.mentioned, place)});
      say(text, {fact.name, fact.thing});
    }
  }
  return text;
}

std::vector<std::string> recall_words(const RecallTextOptions& options) {
  options.check();
  const Lexicon known = lexicon(options);
  std::vector<std::string> words = {"note", "the", "."};
  for (const auto& some : {known.names, known.things, known.adjectives, known.nouns})
    words.insert(words.end(), some.begin(), some.end());
  return words;
}

std::string recall_sample(const RecallTextOptions& options, uint64_t seed, int64_t words) {
  constexpr int64_t kWordsOfDocument = 400;
  std::string sample;
  for (int64_t i = 0; i * kWordsOfDocument < words; ++i) {
    sample += recall_text(options, mix(seed, uint64_t(i)), kWordsOfDocument).text() + "\n";
  }
  return sample;
}

RecallEncoder::RecallEncoder(const Tokenizer& tokenizer, const RecallTextOptions& options)
    : tokenizer_(tokenizer), options_(options) {
  for (const auto& word : recall_words(options)) tokens_[word] = tokenizer.encode_continuation(" " + word);
}

RecallTokens RecallEncoder::document(uint64_t seed, int64_t length) const {
  // A word has at least one token.
  const RecallText text = recall_text(options_, seed, length);
  RecallTokens result;
  std::vector<int64_t> begins;
  for (size_t i = 0; i < text.words.size() && int64_t(result.tokens.size()) < length; ++i) {
    const auto word = i == 0 ? tokenizer_.encode(text.words[i]) : tokens_.at(text.words[i]);
    begins.push_back(int64_t(result.tokens.size()));
    result.tokens.insert(result.tokens.end(), word.begin(), word.end());
  }
  begins.push_back(int64_t(result.tokens.size()));
  for (const auto& [word, mentioned] : text.answers) {
    if (word + 1 >= int64_t(begins.size()) || begins[size_t(word) + 1] > length) break;
    const int64_t begin = begins[size_t(word)];
    result.answers.push_back({begin, begins[size_t(word) + 1], begin - begins[size_t(mentioned)]});
  }
  result.tokens.resize(size_t(length));
  return result;
}

namespace {

class RecallSequences : public TokenSource {
 public:
  RecallSequences(const Tokenizer& tokenizer, const RecallTextOptions& options, uint64_t seed)
      : encoder_(tokenizer, options), seed_(seed) {}

  void sequence(int64_t index, int64_t length, int64_t* out) const override {
    const auto document = encoder_.document(mix(seed_, uint64_t(index)), length);
    std::copy(document.tokens.begin(), document.tokens.end(), out);
  }
  std::vector<int64_t> document_begins(int64_t /*index*/, int64_t /*length*/) const override { return {}; }

  std::vector<TokenRange> answers(int64_t index, int64_t length) const override {
    std::vector<TokenRange> found;
    for (const auto& answer : encoder_.document(mix(seed_, uint64_t(index)), length).answers)
      found.push_back({answer.begin, answer.end});
    return found;
  }

  int64_t num_sequences(int64_t) const override { return 0; }

 private:
  RecallEncoder encoder_;
  uint64_t seed_;
};

}  // namespace

std::unique_ptr<TokenSource> recall_sequences(const Tokenizer& tokenizer, const RecallTextOptions& options,
                                              uint64_t seed) {
  return std::make_unique<RecallSequences>(tokenizer, options, seed);
}

}  // namespace lact::data
