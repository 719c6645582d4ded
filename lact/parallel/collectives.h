// Collective operations that gradients pass through. A loss is the sum of what the ranks compute: each has
// its own part, and gradients of what all ranks share are parts too, until something adds them up.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "lact/parallel/group.h"

namespace lact::parallel {

/// Σ over ranks of x; so is its gradient. All ranks get the same.
at::Tensor sum(const at::Tensor& x, const Group& group, const char* what);

/// Group::exchange; gradients go the way back.
at::Tensor exchange(const at::Tensor& x, const std::vector<int64_t>& to, const std::vector<int64_t>& from,
                    const Group& group, const char* what);

/// x, whose backward pass also goes through `others`, with nothing to tell them: a rank that does not use
/// what an exchange brought still has to take part in the way back.
at::Tensor tie(const at::Tensor& x, const std::vector<at::Tensor>& others);

}  // namespace lact::parallel
