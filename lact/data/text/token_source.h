// Where a language model's training sequences come from. Sequences are numbered; a number always gives the
// same tokens, so that the data position of a run is a count.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "lact/data/text/token_array.h"

namespace lact::data {

class TokenSource {
 public:
  virtual ~TokenSource() = default;

  /// Writes `length` tokens of sequence `index` to `out`.
  virtual void sequence(int64_t index, int64_t length, int64_t* out) const = 0;

  /// Where in (0, length) of sequence `index` a document begins, in order.
  virtual std::vector<int64_t> document_begins(int64_t index, int64_t length) const = 0;

  /// The tokens of sequence `index` that can be known from the text before: answers, and questions about what
  /// it said; in order. None where nothing is asked.
  virtual std::vector<TokenRange> answers(int64_t /*index*/, int64_t /*length*/) const { return {}; }

  /// Different sequences of this length; 0 if there is no end to them.
  virtual int64_t num_sequences(int64_t length) const = 0;
};

/// The tokens of all ranges packed into one row, cut into sequences at places that move with each epoch and
/// come in a random order that depends on the seed.
std::unique_ptr<TokenSource> shuffled_sequences(std::shared_ptr<TokenArray> tokens,
                                                std::vector<TokenRange> ranges, uint64_t seed);

/// The same row in order, without overlap: for validation.
std::unique_ptr<TokenSource> consecutive_sequences(std::shared_ptr<TokenArray> tokens,
                                                   std::vector<TokenRange> ranges);

}  // namespace lact::data
