// The chunk loop of algorithm 1: runs a schedule of writes and reads over a memory. This is the whole
// test-time-training operation; everything else in the layer prepares its inputs or treats its output token
// by token.
#pragma once

#include <ATen/core/Tensor.h>

#include "lact/parallel/group.h"
#include "lact/ttt/loss.h"
#include "lact/ttt/network.h"
#include "lact/ttt/schedule.h"
#include "lact/ttt/update_rule.h"

namespace lact::ttt {

/// q holds the tokens at positions first_query, first_query + 1, ...; k, v, rates and beta those from
/// first_key on. They begin earlier than q when tokens of an unfinished chunk were kept from an earlier call.
struct ScanInputs {
  at::Tensor q;     ///< [B, H, Tq, D]
  at::Tensor k;     ///< [B, H, Tk, D]
  at::Tensor v;     ///< [B, H, Tk, D_out]
  Matrices rates;   ///< one per matrix, [B, H, Tk, 1 or in]; undefined for matrices that are not written
  at::Tensor beta;  ///< [B, H, Tk, 1], undefined without momentum
  int64_t first_query = 0;
  int64_t first_key = 0;
  Matrices initial_weights = {};  ///< [B, H, out, in]: what a schedule that restarts begins with again
  /// Ranks among which the tokens of every step are shared out (paper algorithm 3): these are the part of one
  /// of them, the schedule's ranges count in it and may be empty, and all ranks have the same steps.
  parallel::Group context = {};
  bool one_of_many = false;  ///< other ranks run the same scan: rates that are not finite spoil it for all
};

/// What a layer's scan is made of.
struct FastWeightRule {
  const FastWeightNetwork& network;
  const FastWeightLoss& loss;
  UpdateRule update;
  bool recompute = false;  ///< hidden layers are computed again in the backward pass instead of being kept
};

/// A memory of this rule that has not seen anything.
Memory start_memory(const FastWeightRule& rule, Matrices weights);

/// Runs the schedule, leaves the memory as it is after the last step, and returns [B, H, Tq, D_out].
at::Tensor scan(const FastWeightRule& rule, const Schedule& schedule, const ScanInputs& inputs,
                Memory& memory);

/// Throws unless the inputs fit each other, the rule and the memory, and the rates of a write are finite.
void check_scan(const FastWeightRule& rule, const Schedule& schedule, const ScanInputs& inputs,
                const Memory& memory);

namespace reference {
at::Tensor scan(const FastWeightRule& rule, const Schedule& schedule, const ScanInputs& inputs,
                Memory& memory);
}

/// One operation with a backward pass of its own, on a processor.
namespace fused {
bool fits(const FastWeightRule& rule, const Schedule& schedule, const ScanInputs& inputs,
          const Memory& memory);
at::Tensor scan(const FastWeightRule& rule, const Schedule& schedule, const ScanInputs& inputs,
                Memory& memory);
}  // namespace fused

}  // namespace lact::ttt
