// The scan of a sequence whose tokens are shared out among ranks.
#pragma once

#include "lact/mixers/layout.h"
#include "lact/ttt/scan.h"

namespace lact::ttt {

/// `inputs`: this rank's tokens, of all heads; returns what they read. The memory is afterwards that of this
/// rank's heads.
at::Tensor sharded_scan(const FastWeightRule& rule, const SequenceLayout& layout, ScanInputs inputs,
                        Memory& memory);

}  // namespace lact::ttt
