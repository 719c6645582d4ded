// Reading and writing a text token by token, in constant memory: fast weights and momentum, the window's keys
// and values, and the tokens of the unfinished chunk. The numbers are those of the whole text at once.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "lact/models/lm/model.h"

namespace lact::models {

/// One text. Several streams of one model do not know of each other.
class LmStream {
 public:
  explicit LmStream(std::shared_ptr<LanguageModel> model);

  /// Continues from a state and the hidden state [M] of its last token.
  LmStream(std::shared_ptr<LanguageModel> model, std::unique_ptr<LmState> state, at::Tensor last_hidden);

  /// Called with hidden states [1, n, M] of consecutive tokens, the first of them number `first` of the call.
  using OnHidden = std::function<void(const at::Tensor& hidden, int64_t first)>;

  /// Reads tokens, no more than up to the end of a chunk at once.
  void read(std::span<const int64_t> tokens, const OnHidden& on_hidden = {});

  /// Logits [vocabulary] of the next token; something must have been read.
  at::Tensor next_logits() const;

  int64_t position() const { return state_->position; }
  LanguageModel& model() const { return *model_; }
  LmState& state() { return *state_; }
  const at::Tensor& last_hidden() const { return last_hidden_; }

 private:
  std::shared_ptr<LanguageModel> model_;
  std::unique_ptr<LmState> state_;
  at::Tensor last_hidden_;  ///< [M]; undefined at the beginning
};

/// Reads the rows of a padded batch, ids [B, T], each to its own length and into its own stream; returns
/// hidden states [B, T, M], zero at the padding. Padding is never computed, so that it touches nothing.
at::Tensor read_padded(std::span<LmStream> streams, const at::Tensor& ids, std::span<const int64_t> lengths);

/// Bytes that the tensors of a state take.
int64_t state_bytes(State& state);

}  // namespace lact::models
