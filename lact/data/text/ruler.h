// Needle-in-a-haystack tasks in the style of RULER (Hsieh et al., 2024): sentences that tie a key to a value
// are hidden in a long text, and the model is asked for the values of some keys.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace lact::data::ruler {

enum class Haystack { noise, essay };  // one line over and over; prose
enum class Value { number, uuid };     // seven digits; version 4, lower case

struct Task {
  std::string name;        // RULER's
  std::string short_name;  // in tables of papers
  Haystack haystack;
  Value value;
  int64_t keys;     // different keys in the text
  int64_t values;   // needles of each key
  int64_t queries;  // keys that are asked for
};

/// The six tasks.
const std::vector<Task>& tasks();

/// By either name, in any case.
const Task& task(const std::string& name);

/// Keys and values that no model may have been trained on are kept apart: one in four by a hash of its text,
/// whatever the seeds are. Examples for training hold none of them, those of an evaluation nothing else.
enum class Part { all, training, evaluation };
bool is_kept_for_evaluation(std::string_view key_or_value);

/// What examples are made of: a key is adjective-noun, the essay is hidden in. Examples for training take the
/// essay from a sentence anywhere, others from its beginning, as RULER does.
struct Material {
  std::vector<std::string> adjectives, nouns;
  std::string essay;
  Part part = Part::all;
};

/// Written by ourselves (lact/data/text/haystack.h).
const Material& material();

/// From the user's files: a text, and lists with one word per line. An empty name takes the built-in part.
Material read_material(const std::string& essay_path, const std::string& adjectives_path,
                       const std::string& nouns_path);

struct Example {
  std::string prompt;  // ends with the beginning of the answer, without a blank
  /// All values of the keys asked for, in the order of the question; those of one key in that of the text.
  std::vector<std::string> answers;
  double depth = 0;  // where the needle of the first answer stands: 0 begins the context, 1 ends it

  /// What a model should write behind the prompt: " 1. 2. 3.", each answer with the same marks around it as
  /// in its needle
  std::string completion() const;
};

/// Tokens of a text by the model's own tokenizer.
using CountTokens = std::function<int64_t(const std::string&)>;

constexpr int64_t kReserved = 128;  // tokens kept free for the answer

/// `haystack_size` counts words of the essay or lines of noise; noise needs at least one per needle. The same
/// seed gives the same needles and question for every size.
Example make_example(const Task& task, const Material& material, int64_t haystack_size, uint64_t seed);

/// The essay tasks can do without a haystack; noise has a line for each needle.
int64_t smallest_haystack(const Task& task);

/// The largest haystack with which an example of this seed has tokens(prompt) + reserved <= length. Throws a
/// sentence that says which length is needed when not even the smallest fits.
int64_t fit_haystack(const Task& task, const Material& material, int64_t length,
                     const CountTokens& count_tokens, uint64_t seed, int64_t reserved = kReserved);

/// `count` examples with tokens(prompt) + reserved <= length. All have the haystack that fits the first;
/// where another happens to be longer, its haystack is lowered step by step. Example i depends on (seed, i)
/// alone.
std::vector<Example> make_examples(const Task& task, const Material& material, int64_t length, int64_t count,
                                   uint64_t seed, const CountTokens& count_tokens,
                                   int64_t reserved = kReserved);

}  // namespace lact::data::ruler
