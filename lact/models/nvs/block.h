// The view-synthesis block: attention inside each image, a memory of all input images, feed-forward. A whole
// sequence runs through Block::forward; a scene is read in two passes over pieces of its views, with one
// write of the memory between them.
#pragma once

#include "lact/models/common/block.h"
#include "lact/models/nvs/config.h"

namespace lact::models {

class NvsBlock : public Block {
 public:
  /// The block at index `layer`, which has that layer's mixer.
  NvsBlock(const NvsConfig& config, int64_t layer);

  /// The memory alone: what a scene is made of.
  std::unique_ptr<State> initial_memory(int64_t batch) { return memory().initial_state(batch); }

  /// First pass: x [B, T, M] + attention inside the images; what the result says to the memory is collected.
  at::Tensor collect(const at::Tensor& x, const SequenceLayout& layout, State& memory_state);

  /// Writes what all pieces said.
  void write_collected(State& memory_state) { memory().write_collected(memory_state); }

  /// Second pass, on what the first one returned: reads the memory, then feed-forward.
  at::Tensor recall(const at::Tensor& x, const SequenceLayout& layout, const State& memory_state);

  /// All of the block for a view that is only rendered.
  at::Tensor render(const at::Tensor& x, const SequenceLayout& layout, const State& memory_state);

 private:
  SingleMixer& memory() const { return static_cast<SingleMixer&>(*mixers_[1]); }
  at::Tensor look(const at::Tensor& x, const SequenceLayout& layout);
};

}  // namespace lact::models
