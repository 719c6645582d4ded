// Reading and writing a text token by token, in constant memory: fast weights and momentum, the window's keys
// and values, and the tokens of the unfinished chunk. The numbers are those of the whole text at once.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <span>

#include "lact/models/lm/text_memory.h"

namespace lact::models {

/// One text. Several streams of one model do not know of each other.
class LmStream {
 public:
  explicit LmStream(std::shared_ptr<LanguageModel> model);

  /// Continues a text.
  LmStream(std::shared_ptr<LanguageModel> model, TextMemory memory);
  /// Continues from a state and the hidden state [M] of its last token; which tokens it read is not known.
  LmStream(std::shared_ptr<LanguageModel> model, std::unique_ptr<LmState> state, at::Tensor last_hidden);

  /// Another stream that continues the same text.
  LmStream fork() const { return {model_, memory_.clone()}; }

  /// Called with hidden states [1, n, M] of consecutive tokens, the first of them number `first` of the call.
  using OnHidden = std::function<void(const at::Tensor& hidden, int64_t first)>;

  /// Reads tokens, no more than up to the end of a chunk at once.
  void read(std::span<const int64_t> tokens, const OnHidden& on_hidden = {});

  /// Logits [vocabulary] of the next token; something must have been read.
  at::Tensor next_logits();
  /// [M]. Where tokens were forgotten, the last of those that are left may be read again for it.
  const at::Tensor& last_hidden();

  /// How many of the last tokens can be forgotten: those of the unfinished chunk, in general.
  int64_t forgettable() const;
  /// As if the last `tokens` had never been read. Costs nothing where every mixer keeps the tokens of a chunk
  /// apart (LaCT, attention); otherwise the others of the chunk are read again.
  void roll_back(int64_t tokens);
  /// For whoever still has the hidden state of the token that is then the last.
  void roll_back(int64_t tokens, const at::Tensor& last_hidden);

  /// Tokens that may be read before the chunk ends.
  int64_t left_in_chunk() const { return chunk() - position() % chunk(); }

  int64_t position() const { return memory_.position(); }
  LanguageModel& model() const { return *model_; }
  LmState& state() { return *memory_.state; }
  const TextMemory& memory() const { return memory_; }

 private:
  friend void read_together(std::span<struct StreamPiece> pieces);

  int64_t chunk() const { return model_->config().chunk_size; }
  /// After the model has read them, up to the end of a chunk at most.
  void note(std::span<const int64_t> tokens, const at::Tensor& last_hidden);
  void keep_boundary();

  std::shared_ptr<LanguageModel> model_;
  TextMemory memory_;
};

/// What one text reads in a call that serves several.
struct StreamPiece {
  LmStream* stream;                 ///< of the same model as the others
  std::span<const int64_t> tokens;  ///< at least one, and no more than to the end of the chunk
  at::Tensor hidden = {};           ///< out: [n, M] of its tokens
  std::exception_ptr failure =
      {};  ///< out: what went wrong with this text alone; its stream is of no more use
};

/// Every text reads its tokens as if it were alone; the weights are read once for all.
void read_together(std::span<StreamPiece> pieces);

/// Reads the rows of a padded batch, ids [B, T], each to its own length and into its own stream; returns
/// hidden states [B, T, M], zero at the padding. Padding is never computed, so that it touches nothing.
at::Tensor read_padded(std::span<LmStream> streams, const at::Tensor& ids, std::span<const int64_t> lengths);

}  // namespace lact::models
