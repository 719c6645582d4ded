// All that there is to know about a text at one moment: what the model remembers of it, and what tells it
// from other texts. A copy costs next to nothing: tensors are shared until one of them moves on.
#pragma once

#include <memory>

#include "lact/models/lm/model.h"
#include "lact/models/lm/token_history.h"

namespace lact::models {

struct TextMemory {
  std::unique_ptr<LmState> state;
  at::Tensor last_hidden;      ///< [M], of the last token; undefined if none was read, or if it was not kept
  at::Tensor boundary_hidden;  ///< [M], of the last token before the tail; undefined if there is none
  TokenHistory history;
  /// The text without its tail, where a state cannot forget token by token; otherwise null.
  std::shared_ptr<const TextMemory> boundary;

  int64_t position() const { return state->position; }  ///< tokens read
  TextMemory clone() const;
  /// Of its tensors, those of `boundary` included. What it shares with others counts in full.
  int64_t bytes() const;

  /// Whether its tensors take just their bytes, in memory. A stream's buffers have room for the tokens to
  /// come, and what was loaded lies in a file until it is read.
  bool is_compact() const;
  /// A clone that is: to be kept, and continued later without delay.
  TextMemory compact() const;
};

/// Bytes that the tensors of a state take.
int64_t state_bytes(State& state);

}  // namespace lact::models
