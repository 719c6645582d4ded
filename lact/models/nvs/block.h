// The view-synthesis block: attention inside each image, a memory of all input images, feed-forward. A whole
// sequence goes through `pass`. A scene is read in two passes over pieces of its views, with one write of the
// memory between them; a recurrence, whose memory cannot be written in pieces, sees all views at once.
#pragma once

#include "lact/mixers/perceiver/registers.h"
#include "lact/models/common/block.h"
#include "lact/models/nvs/config.h"

namespace lact::models {

class NvsBlock : public Block {
 public:
  /// Block `index` of the model. `registers` are the model's, for a Perceiver only.
  NvsBlock(const NvsConfig& config, int64_t index,
           const std::shared_ptr<const perceiver::Registers>& registers);

  /// Training: x [B, T, M] are the tokens of `layout`; registers [B, R, M] travel in front of them.
  at::Tensor pass(const at::Tensor& x, const SequenceLayout& layout);

  /// The memory alone: what a scene is made of.
  std::unique_ptr<State> initial_memory(int64_t batch) { return memory().initial_state(batch); }

  /// x [B, T, M] + attention inside the images.
  at::Tensor look(const at::Tensor& x, const SequenceLayout& layout);

  /// Whether the memory takes what images say a piece at a time: `collect` all, then `write_collected`.
  bool takes_pieces() const { return set_memory() != nullptr; }

  /// First pass: looks; what the result says to the memory is collected.
  at::Tensor collect(const at::Tensor& x, const SequenceLayout& layout, State& memory_state);

  /// Writes what all pieces said.
  void write_collected(State& memory_state, const parallel::Group& ranks) {
    set_memory()->write_collected(memory_state, ranks);
  }

  /// All images at once, for any memory: x is what `look` made of them. Writes and reads the memory.
  at::Tensor remember(const at::Tensor& x, State& memory_state);

  /// Second pass, on what `look` returned: reads the memory, then feed-forward.
  at::Tensor recall(const at::Tensor& x, const SequenceLayout& layout, const State& memory_state);

  /// x + feed-forward, the end of the block.
  at::Tensor think(const at::Tensor& x);

  /// All of the block for a view that is only rendered.
  at::Tensor render(const at::Tensor& x, const SequenceLayout& layout, const State& memory_state);

 private:
  Mixer& memory() const { return *mixers_[1]; }
  /// Null if it does not take pieces.
  SetMixer* set_memory() const;
};

}  // namespace lact::models
