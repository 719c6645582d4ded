// Training text of the needle tasks: examples with their answers, one after the other, from a seed and
// without end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lact/data/text/ruler.h"
#include "lact/data/text/token_source.h"
#include "lact/data/text/tokenizer.h"

namespace lact::data {

struct RulerTextOptions {
  std::vector<std::string> ruler_tasks;
  int64_t shortest = 0;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("ruler_tasks", ruler_tasks,
          "needle tasks by name, as S-NIAH-1 or niah_single_1; by default all six");
    field("shortest", shortest,
          "tokens of the shortest examples: lengths are drawn from here to what a sequence has room for, "
          "short ones as often as long ones; 0: one example fills a sequence");
  }
  bool operator==(const RulerTextOptions&) const = default;

  void check() const;
};

/// Endless sequences of examples, which hold no key or value that is kept for evaluation. An example ends
/// with its question, answer and the end-of-text token, which count as answers(): a question repeats its keys
/// twice, which teaches to copy; what is left over at the end of a sequence is filled with such
/// tokens. The built-in words and prose.
std::unique_ptr<TokenSource> ruler_sequences(const Tokenizer& tokenizer, const RulerTextOptions& options,
                                             uint64_t seed);

/// Example `index` of a seed for training, of at most `words` words with its answer: text to read, to train a
/// tokenizer on, or for other programs.
struct RulerDocument {
  std::string task;
  ruler::Example example;
};
RulerDocument ruler_document(const RulerTextOptions& options, uint64_t seed, int64_t index, int64_t words);

}  // namespace lact::data
