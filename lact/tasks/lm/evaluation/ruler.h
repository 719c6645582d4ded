// Needle-in-a-haystack tasks in the style of RULER (Hsieh et al., 2024): sentences that tie a key to a value
// are hidden in a long text, and the model is asked for the values of some keys.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace lact::tasks::lm {
struct Loaded;
}

namespace lact::tasks::lm::ruler {

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

/// What examples are made of: a key is adjective-noun, the essay is hidden in.
struct Material {
  std::vector<std::string> adjectives, nouns;
  std::string essay;
};

/// Written by ourselves (lact/data/text/haystack.h).
const Material& material();

/// From the user's files: a text, and lists with one word per line. An empty name takes the built-in part.
Material read_material(const std::string& essay_path, const std::string& adjectives_path,
                       const std::string& nouns_path);

struct Example {
  std::string prompt;                // ends with the beginning of the answer, without a blank
  std::vector<std::string> answers;  // all values of the keys asked for, in their order
  double depth = 0;  // where the first needle asked for stands: 0 begins the context, 1 ends it
};

/// Tokens of a text by the model's own tokenizer.
using CountTokens = std::function<int64_t(const std::string&)>;

constexpr int64_t kReserved = 128;  // tokens kept free for the answer

/// `haystack_size` counts words of the essay or lines of noise; noise needs at least one per needle. The same
/// seed gives the same needles and question for every size.
Example make_example(const Task& task, const Material& material, int64_t haystack_size, uint64_t seed);

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

/// The fraction of the answers that occur in the prediction, whatever their case and order.
double score(const std::string& prediction, const std::vector<std::string>& answers);

/// The mean of the examples' scores in per cent, to two decimals.
double task_score(const std::vector<double>& scores);

struct Options {
  int64_t length = 1024;  ///< tokens of an example with its answer
  int64_t examples = 20;
  uint64_t seed = 1000;
  int64_t answer_tokens = kReserved;
};

struct Result {
  double score = 0;  ///< task_score
  std::vector<double>
      by_depth;  ///< by the quarter of the context in which the first needle stands; NaN: none
};

/// A model's answers, drawn greedily as RULER asks.
Result evaluate(const Loaded& lm, const Task& task, const Material& material, const Options& options,
                const std::function<void()>& on_example = {});

}  // namespace lact::tasks::lm::ruler
