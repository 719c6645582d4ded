// What every recurrence asks of its tensors.
#pragma once

#include <ATen/core/Tensor.h>

namespace lact::ops {

/// How the recurrences differ in their tensors: q, k [B, H, T, K]; v [B, H, T, V]; a gate [B, H, T] or, per
/// channel, [B, H, T, K]; state [B, H, K, V].
struct RecurrenceRules {
  const char *operation, *gate;  ///< their names
  bool gate_per_channel = false;
  bool gate_is_log_decay = false;  ///< and at most 0
  bool shared_keys = false;        ///< q and k may have one head for all
};

struct RecurrenceInputs {
  const at::Tensor &q, &k, &v, &gate, &state;
};

/// Throws lact::Error with one sentence about the first thing that does not fit.
void check_recurrence(const RecurrenceRules& rules, const RecurrenceInputs& in);

}  // namespace lact::ops
