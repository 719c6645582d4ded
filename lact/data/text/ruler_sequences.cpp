#include "lact/data/text/ruler_sequences.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "lact/base/error.h"
#include "lact/base/random.h"

namespace lact::data {

namespace {

using ruler::Example;
using ruler::Task;

const ruler::Material& training_material() {
  static const ruler::Material material = [] {
    ruler::Material built_in = ruler::material();
    built_in.part = ruler::Part::training;
    return built_in;
  }();
  return material;
}

std::vector<Task> chosen_tasks(const RulerTextOptions& options) {
  std::vector<Task> tasks;
  for (const auto& name : options.ruler_tasks) tasks.push_back(ruler::task(name));
  return tasks.empty() ? ruler::tasks() : tasks;
}

/// Examples whose number of tokens is foretold by a straight line in the size of the haystack, so that one
/// or two are made and not the dozen of a search.
class SizedExamples {
 public:
  using Count = std::function<int64_t(const Example&)>;

  SizedExamples(Task task, Count count) : task_(std::move(task)), count_(std::move(count)) {
    smallest_ = ruler::smallest_haystack(task_);
    constexpr int64_t kFurther = 64;
    const auto tokens = [&](int64_t size) {
      return double(count_(make_example(task_, training_material(), size, /*seed=*/0)));
    };
    least_ = tokens(smallest_);
    per_unit_ = std::max(1e-3, (tokens(smallest_ + kFurther) - least_) / double(kFurther));
  }

  const Task& task() const { return task_; }

  /// Of at most `length` tokens; false if not even the smallest of this seed fits.
  bool make(int64_t length, uint64_t seed, Example& example) const {
    auto size = int64_t((double(length) - least_) / per_unit_);
    for (size = std::max(size, smallest_);;) {
      example = make_example(task_, training_material(), size, seed);
      const int64_t excess = count_(example) - length;
      if (excess <= 0) return true;
      if (size == smallest_) return false;
      size = std::max(size - int64_t(std::ceil(double(excess) / per_unit_)), smallest_);
    }
  }

 private:
  Task task_;
  Count count_;
  int64_t smallest_ = 0;
  double least_ = 0, per_unit_ = 1;  // tokens of the smallest haystack, and of a word or line
};

class RulerSequences : public TokenSource {
 public:
  RulerSequences(const Tokenizer& tokenizer, const RulerTextOptions& options, uint64_t seed)
      : tokenizer_(tokenizer), options_(options), seed_(seed) {
    options.check();
    for (const Task& task : chosen_tasks(options))
      tasks_.emplace_back(task, [this](const Example& example) { return int64_t(encode(example).size()); });
  }

  void sequence(int64_t index, int64_t length, int64_t* out) const override {
    const Sequence made = at(index, length);
    std::copy(made.tokens.begin(), made.tokens.end(), out);
  }
  std::vector<int64_t> document_begins(int64_t index, int64_t length) const override {
    return at(index, length).begins;
  }
  std::vector<TokenRange> answers(int64_t index, int64_t length) const override {
    return at(index, length).answers;
  }
  int64_t num_sequences(int64_t) const override { return 0; }

 private:
  struct Sequence {
    int64_t index = -1, length = 0;
    std::vector<int64_t> tokens, begins;
    std::vector<TokenRange> answers;
  };

  /// With the answer and the end of the text. `question` gets the place of the last line, which asks.
  std::vector<int32_t> encode(const Example& example, int64_t* question = nullptr) const {
    std::vector<int32_t> tokens = tokenizer_.encode(example.prompt);
    // No token reaches across a newline.
    if (question != nullptr)
      *question = int64_t(tokenizer_.encode(example.prompt.substr(0, example.prompt.rfind('\n') + 1)).size());
    const auto completion = tokenizer_.encode_continuation(example.completion());
    tokens.insert(tokens.end(), completion.begin(), completion.end());
    tokens.push_back(tokenizer_.end_of_text());
    return tokens;
  }

  /// The last one is kept: its tokens, answers and documents are asked for one after the other.
  Sequence at(int64_t index, int64_t length) const {
    const std::lock_guard lock(mutex_);
    if (last_.index != index || last_.length != length) last_ = make(index, length);
    return last_;
  }

  Sequence make(int64_t index, int64_t length) const {
    Random random(mix(seed_, uint64_t(index)));
    Sequence made{index, length, {}, {}, {}};
    for (;;) {
      const int64_t room = length - int64_t(made.tokens.size());
      const auto& examples = random.choice(tasks_);
      Example example;
      const bool fits = examples.make(draw_length(room, random), random.next(), example) ||
                        examples.make(room, random.next(), example);
      LACT_CHECK(fits || !made.tokens.empty(),
                 "[data] a sequence of {} tokens has no room for an example of {} and its answer", length,
                 examples.task().name);
      if (!fits) break;
      int64_t question = 0;
      const auto tokens = encode(example, &question);
      const auto begin = int64_t(made.tokens.size());
      if (begin > 0) made.begins.push_back(begin);
      made.tokens.insert(made.tokens.end(), tokens.begin(), tokens.end());
      made.answers.push_back({begin + question, int64_t(made.tokens.size())});
      if (options_.shortest == 0) break;
    }
    made.tokens.resize(size_t(length), tokenizer_.end_of_text());
    return made;
  }

  /// Evenly by its logarithm.
  int64_t draw_length(int64_t room, Random& random) const {
    if (options_.shortest == 0 || room <= options_.shortest) return room;
    const double least = std::log(double(options_.shortest));
    return int64_t(std::exp(least + random.uniform() * (std::log(double(room)) - least)));
  }

  const Tokenizer& tokenizer_;
  RulerTextOptions options_;
  uint64_t seed_;
  std::vector<SizedExamples> tasks_;
  mutable std::mutex mutex_;
  mutable Sequence last_;
};

int64_t words_of(const Example& example) {
  const std::string text = example.prompt + example.completion();
  return 1 + std::count_if(text.begin(), text.end(), [](char c) { return c == ' ' || c == '\n'; });
}

}  // namespace

void RulerTextOptions::check() const {
  for (const auto& name : ruler_tasks) ruler::task(name);
  LACT_CHECK(shortest >= 0, "[data] shortest is {} tokens, expected at least 0", shortest);
}

std::unique_ptr<TokenSource> ruler_sequences(const Tokenizer& tokenizer, const RulerTextOptions& options,
                                             uint64_t seed) {
  return std::make_unique<RulerSequences>(tokenizer, options, seed);
}

RulerDocument ruler_document(const RulerTextOptions& options, uint64_t seed, int64_t index, int64_t words) {
  Random random(mix(seed, uint64_t(index)));
  const auto tasks = chosen_tasks(options);
  const SizedExamples examples(random.choice(tasks), words_of);
  RulerDocument document{examples.task().name, {}};
  LACT_CHECK(examples.make(words, random.next(), document.example),
             "[data] {} words have no room for an example of {} and its answer", words, document.task);
  return document;
}

}  // namespace lact::data
