// Other ways to run a scan that give the same numbers where they fit; `scan` chooses.
#pragma once

#include "lact/ttt/scan.h"

namespace lact::ttt {

/// A schedule that restarts is so many scans that know nothing of each other, each in any form.
namespace documents {
at::Tensor scan(const FastWeightRule& rule, const Schedule& schedule, const ScanInputs& inputs,
                Memory& memory);
}

/// Where only the output's matrix W of f(x) = W φ(x) is written, φ stays what it is: the scan of a linear
/// network over φ(q) and φ(k), which are computed for all tokens at once.
namespace features {
bool fits(const FastWeightRule& rule, const Schedule& schedule, const ScanInputs& inputs);
at::Tensor scan(const FastWeightRule& rule, const Schedule& schedule, const ScanInputs& inputs,
                Memory& memory);
}  // namespace features

/// The steps of a linear network under the dot-product loss do not depend on its weights: without norms,
/// momentum, Muon and anchor what is read is linear attention over the chunks, a few products for many small
/// chunks at once.
namespace linear_attention {
bool fits(const FastWeightRule& rule, const Schedule& schedule);
at::Tensor scan(const FastWeightRule& rule, const Schedule& schedule, const ScanInputs& inputs,
                Memory& memory);
}  // namespace linear_attention

/// Small chunks: each worker runs the whole chunk loop of a head by itself, forward and back, so that a chunk
/// costs its products and little else. Without Muon, pre-norm and anchor.
namespace heads {
bool fits(const FastWeightRule& rule, const Schedule& schedule, const ScanInputs& inputs,
          const Memory& memory);
at::Tensor scan(const FastWeightRule& rule, const Schedule& schedule, const ScanInputs& inputs,
                Memory& memory);
}  // namespace heads

}  // namespace lact::ttt
