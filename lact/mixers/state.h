// What a mixer remembers between calls. The caller owns it; a mixer only advances it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lact/base/error.h"
#include "lact/ops/attention/kept_tokens.h"

namespace lact {

/// Sees every field of a state, to save, load, count or copy it.
class StateVisitor {
 public:
  virtual ~StateVisitor() = default;

  /// `token_dim` is the dimension whose size depends on how much was read; -1 if the shape is fixed.
  virtual void tensor(const std::string& name, at::Tensor& value, int64_t token_dim) = 0;
  virtual void number(const std::string& name, int64_t& value) = 0;
  /// Tokens along dimension 1. Those of int8 are two tensors; their scales are called `name`_scales.
  virtual void tokens(const std::string& name, ops::KeptTokens& value) {
    tensor(name, value.numbers, 1);
    if (value.scales.defined()) tensor(name + "_scales", value.scales, 1);
  }
};

class State {
 public:
  virtual ~State() = default;

  /// The same fields in the same order whatever was read; names begin with `prefix`.
  virtual void visit(StateVisitor& visitor, const std::string& prefix) = 0;

  /// Another memory of the same. The two share tensors until one of them moves on: mixers write only to
  /// memory that nobody else holds.
  virtual std::unique_ptr<State> clone() const = 0;

  /// How many of the last tokens can be forgotten as if they had never been read. What changes with every
  /// token, such as a recurrence, can forget none. Attention to a window counts what it keeps: its caller
  /// knows how far back later pieces see (SequenceLayout::keep_keys_from).
  virtual int64_t forgettable() const { return 0; }
  /// Forgets them; at most `forgettable()`.
  virtual void forget_last(int64_t tokens);

 protected:
  State() = default;
  State(const State&) = default;
  State& operator=(const State&) = default;
};

inline void State::forget_last(int64_t tokens) { LACT_ASSERT(tokens == 0); }

inline std::vector<std::unique_ptr<State>> clone_all(const std::vector<std::unique_ptr<State>>& states) {
  std::vector<std::unique_ptr<State>> copies;
  for (const auto& state : states) copies.push_back(state->clone());
  return copies;
}

}  // namespace lact
