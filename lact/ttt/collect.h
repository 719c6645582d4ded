// One write whose tokens come in pieces: the gradients of the pieces are added up, then the memory takes one
// step. The numbers are those of all tokens at once; only one piece of them is ever in memory. And reading
// alone. Without gradients.
#pragma once

#include "lact/ttt/scan.h"

namespace lact::ttt {

struct Collected {
  Matrices direction;  ///< Σ_t rate_t · (-∂L_t/∂W) so far, [B, H, out, in]; empty before the first piece
  at::Tensor beta;     ///< sum of the tokens' momentum, [B, H, 1, 1]; undefined without momentum
  int64_t tokens = 0;
  bool bf16 = false;  ///< type of the tokens
};

/// Adds the keys of `inputs`, all of them; its queries are not used.
void collect(const FastWeightRule& rule, const ScanInputs& inputs, const Memory& memory,
             Collected& collected);

/// Takes the step and forgets what was collected. Of all `ranks`, each of which has collected its own pieces,
/// or none: all then have the same memory.
void write_collected(const FastWeightRule& rule, Memory& memory, Collected& collected,
                     const parallel::Group& ranks = {});

/// f(q) for q [B, H, T, D] -> [B, H, T, D_out]; the memory stays as it is.
at::Tensor read(const FastWeightRule& rule, const at::Tensor& q, const Memory& memory);

}  // namespace lact::ttt
