#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <string_view>

#include "lact/base/error.h"
#include "lact/base/fnv.h"
#include "lact/base/random.h"
#include "lact/data/text/ruler.h"
#include "lact/data/text/sentences.h"

namespace lact::data::ruler {

namespace {

constexpr const char* kNoise =
    "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again.";
constexpr const char* kSingularPrompt =
    "A special magic {kind} is hidden within the following text. Make sure to memorize it. I will quiz you "
    "about "
    "the {kind} afterwards.\n"
    "{context}\n"
    "What is the special magic {kind} for {query} mentioned in the provided text? The special magic {kind} "
    "for "
    "{query} mentioned in the provided text is";
constexpr const char* kPluralPrompt =
    "Some special magic {kind} are hidden within the following text. Make sure to memorize it. I will quiz "
    "you "
    "about the {kind} afterwards.\n"
    "{context}\n"
    "What are all the special magic {kind} for {query} mentioned in the provided text? The special magic "
    "{kind} for "
    "{query} mentioned in the provided text are";
constexpr int64_t kDepths = 40;  // evenly from 0 to 100 per cent
constexpr std::array kPartWords = {"", " for training", " kept for evaluation"};

struct Question {
  std::vector<std::string> needles;  // in the order of the context
  std::string query;                 // the keys asked for, joined
  std::vector<std::string> answers;
  std::string first_needle;  // of the first answer
};

std::string plural_kind(const Task& task) { return task.value == Value::number ? "numbers" : "uuids"; }

std::string draw_key(const Material& material, Random& random) {
  return random.choice(material.adjectives) + "-" + random.choice(material.nouns);
}

std::string draw_number(Random& random) { return std::to_string(1'000'000 + random.below(9'000'000)); }

std::string draw_uuid(Random& random) {
  const uint64_t high = (random.next() & ~0xF000ull) | 0x4000;                // version 4
  const uint64_t low = (random.next() & ~(0xC0ull << 56)) | (0x80ull << 56);  // variant 10
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xFFFF, high & 0xFFFF,
                     low >> 48, low & 0xFFFFFFFFFFFF);
}

/// `count` different strings: equal keys or values, rare as they are, would make a question without one
/// answer.
template <class Draw>
std::vector<std::string> draw_different(int64_t count, const char* what, Part part, Draw draw) {
  constexpr int kAttempts = 10'000;
  std::vector<std::string> drawn;
  std::set<std::string> seen;
  for (int attempt = 0; static_cast<int64_t>(drawn.size()) < count; ++attempt) {
    LACT_CHECK(attempt < kAttempts, "the word lists give only {} different {}{}, expected at least {}",
               drawn.size(), what, kPartWords[size_t(part)], count);
    std::string next = draw();
    if (part != Part::all && is_kept_for_evaluation(next) != (part == Part::evaluation)) continue;
    if (seen.insert(next).second) drawn.push_back(std::move(next));
  }
  return drawn;
}

/// "k1" or "k1, k2, and k3".
std::string join_words(const std::vector<std::string>& words) {
  if (words.size() == 1) return words[0];
  return fmt::format("{}, and {}", fmt::join(words.begin(), words.end() - 1, ", "), words.back());
}

Question draw_question(const Task& task, const Material& material, Random& random) {
  LACT_CHECK(!material.adjectives.empty() && !material.nouns.empty(),
             "the word lists hold {} adjectives and {} nouns, expected at least one of each",
             material.adjectives.size(), material.nouns.size());
  LACT_CHECK(task.keys >= 1 && task.values >= 1 && task.queries >= 1,
             "{} has {} keys, {} values and {} queries, expected at least one of each", task.name, task.keys,
             task.values, task.queries);
  const int64_t keys = std::max(task.keys, task.queries);
  const std::vector<std::string> names =
      draw_different(keys, "keys", material.part, [&] { return draw_key(material, random); });
  const std::vector<std::string> values = draw_different(keys * task.values, "values", material.part, [&] {
    return task.value == Value::number ? draw_number(random) : draw_uuid(random);
  });
  std::vector<size_t> asked(names.size()), order(values.size());
  std::iota(asked.begin(), asked.end(), 0);
  std::iota(order.begin(), order.end(), 0);
  random.shuffle(asked);
  asked.resize(static_cast<size_t>(task.queries));
  random.shuffle(order);
  const auto key_of = [&](size_t value) { return value / static_cast<size_t>(task.values); };
  Question question;
  for (const size_t value : order) {
    question.needles.push_back(fmt::format("One of the special magic {} for {} is: {}.", plural_kind(task),
                                           names[key_of(value)], values[value]));
  }
  std::vector<std::string> asked_names;
  for (const size_t key : asked) {
    asked_names.push_back(names[key]);
    for (size_t i = 0; i < order.size(); ++i) {
      if (key_of(order[i]) != key) continue;
      if (question.answers.empty()) question.first_needle = question.needles[i];
      question.answers.push_back(values[order[i]]);
    }
  }
  question.query = join_words(asked_names);
  return question;
}

/// `count` different numbers of 0, ..., range - 1, in ascending order.
std::vector<int64_t> draw_ascending(int64_t count, int64_t range, Random& random) {
  std::set<int64_t> drawn;
  while (static_cast<int64_t>(drawn.size()) < count) drawn.insert(random.below(range));
  return {drawn.begin(), drawn.end()};
}

/// Puts needle i before piece places[i], which ascend; a place behind the last piece is the end.
std::string insert(const std::vector<std::string>& needles, const std::vector<int64_t>& places,
                   const std::vector<std::string>& pieces, char separator) {
  std::string context;
  const auto append = [&](const std::string& piece) {
    if (!context.empty()) context += separator;
    context += piece;
  };
  size_t needle = 0;
  for (size_t i = 0; i <= pieces.size(); ++i) {
    while (needle < needles.size() && places[needle] == static_cast<int64_t>(i)) append(needles[needle++]);
    if (i < pieces.size()) append(pieces[i]);
  }
  return context;
}

/// The first `count` words from `at` on, blanks between them; a text too short starts over.
std::string take_words(std::string_view text, size_t at, int64_t count) {
  constexpr std::string_view kBlanks = " \t\r\n\v\f";
  if (count == 0) return "";
  LACT_CHECK(text.find_first_not_of(kBlanks) != text.npos, "the essay holds no words");
  std::string words;
  for (int64_t taken = 0; taken < count;) {
    const size_t begin = text.find_first_not_of(kBlanks, at);
    if (begin == text.npos) {
      at = 0;
      continue;
    }
    at = std::min(text.find_first_of(kBlanks, begin), text.size());
    if (taken++ > 0) words += ' ';
    words += text.substr(begin, at - begin);
  }
  return words;
}

std::string noise_context(const std::vector<std::string>& needles, int64_t lines, Random& random) {
  const auto count = static_cast<int64_t>(needles.size());
  LACT_CHECK(lines >= count, "a haystack of {} lines has no room for {} needles, expected a line for each",
             lines, count);
  const std::vector<std::string> haystack(static_cast<size_t>(lines), kNoise);
  return insert(needles, draw_ascending(count, lines, random), haystack, '\n');
}

/// The beginning of the sentence behind a place drawn evenly, or of the text.
size_t draw_sentence(std::string_view text, Random& random) {
  if (text.empty()) return 0;
  const size_t end = text.find(". ", size_t(random.below(int64_t(text.size()))));
  return end == text.npos ? 0 : end + 2;
}

std::string essay_context(const Material& material, const std::vector<std::string>& needles, int64_t words,
                          Random& random) {
  const size_t begin = material.part == Part::training ? draw_sentence(material.essay, random) : 0;
  const std::vector<std::string> sentences = split_sentences(take_words(material.essay, begin, words));
  LACT_CHECK(needles.size() <= kDepths, "{} needles do not fit {} different depths", needles.size(), kDepths);
  std::vector<int64_t> places = draw_ascending(static_cast<int64_t>(needles.size()), kDepths, random);
  for (int64_t& place : places) {
    const int64_t per_cent = (200 * place + kDepths - 1) / (2 * (kDepths - 1));  // rounded; never a tie
    place = static_cast<int64_t>(sentences.size()) * per_cent / 100;
  }
  return insert(needles, places, sentences, ' ');
}

}  // namespace

bool is_kept_for_evaluation(std::string_view key_or_value) {
  constexpr uint64_t kOneIn = 4;
  Fnv1a hash;
  hash.update(key_or_value);
  return mix(hash.value(), 0) % kOneIn == 0;
}

std::string Example::completion() const {
  std::string text;
  for (const auto& answer : answers) text += " " + answer + ".";
  return text;
}

Example make_example(const Task& task, const Material& material, int64_t haystack_size, uint64_t seed) {
  LACT_CHECK(haystack_size >= 0, "the haystack has size {}, expected at least 0", haystack_size);
  Random random(seed);
  const Question question = draw_question(task, material, random);
  const std::string context = task.haystack == Haystack::noise
                                  ? noise_context(question.needles, haystack_size, random)
                                  : essay_context(material, question.needles, haystack_size, random);
  const bool many = task.queries * task.values > 1;
  std::string kind = plural_kind(task);
  if (!many) kind.pop_back();
  Example example;
  example.prompt = fmt::format(fmt::runtime(many ? kPluralPrompt : kSingularPrompt), fmt::arg("kind", kind),
                               fmt::arg("context", context), fmt::arg("query", question.query));
  example.answers = question.answers;
  const size_t rest = context.size() - question.first_needle.size();
  const size_t place = context.find(question.first_needle);
  example.depth = rest == 0 ? 0 : static_cast<double>(place) / static_cast<double>(rest);
  return example;
}

}  // namespace lact::data::ruler
