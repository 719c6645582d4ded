// The update rule as two passes without autograd, for the fused scan: from a chunk's direction to the next
// weights, and the backward pass. The reference form is `write` in update_rule.h.
#pragma once

#include "lact/parallel/group.h"
#include "lact/ttt/passes/passes.h"
#include "lact/ttt/update_rule.h"

namespace lact::ttt::fused {

/// A memory with all heads of the batch in one dimension, [heads, out, in] float32; norms [heads, out].
struct FlatMemory {
  PerMatrix weights, initial_norms, momentum, accumulated;
  PerMatrix anchor, importance;  ///< constants to the backward pass
};

/// What the backward pass of one update needs.
struct UpdateTape {
  PerMatrix weights;         ///< after the update
  PerMatrix norms, targets;  ///< [heads, out]: of the moved weights, and what they were set to
  PerMatrix steps_from;      ///< what Newton-Schulz was given
  PerMatrix iterates;        ///< of Newton-Schulz, if they are kept
  PerMatrix momentum_before;
  PerMatrix stored_before;  ///< only if their norms are the targets
  PerMatrix pulls;          ///< of an elastic anchor: the share of the way back to it
  at::Tensor decay;         ///< [heads]
};

struct UpdatePrecision {
  bool bf16 =
      false;  ///< the tokens' type: Newton-Schulz may then multiply pairs, and keeps its iterates in it
  bool keep = true;  ///< keeps the iterates
  /// That all take this step: each orthogonalises a share of the heads.
  parallel::Group ranks = {};
};

/// Takes one step along `direction`; decay [heads] is undefined without momentum.
UpdateTape step(FlatMemory& memory, const UpdateRule& rule, const PerMatrix& direction,
                const at::Tensor& decay, const UpdatePrecision& precision);

/// Gradients of a memory; undefined tensors are zeros.
struct MemoryGradients {
  PerMatrix weights, initial_norms, momentum, accumulated;
};

struct DirectionGradients {
  PerMatrix direction;  ///< empty if nothing depends on it
  at::Tensor decay;     ///< [heads], undefined without momentum
};

/// From the gradients of the memory after the update to those before it (in place; the weights' part that
/// goes through the direction is not in them yet) and of the direction.
DirectionGradients step_backward(MemoryGradients& gradients, const UpdateRule& rule, const UpdateTape& tape,
                                 const UpdatePrecision& precision);

}  // namespace lact::ttt::fused
