// Where tensors are, and whether there is anything in them to look at.
#pragma once

#include <ATen/core/Tensor.h>

namespace lact::ops {

/// Where the models are that a program makes or loads; the processor unless chosen otherwise (--device). A
/// model takes its inputs from anywhere, and answers where it was asked.
at::Device compute_device();
void set_compute_device(at::Device device);

/// False for tensors of LibTorch's meta device, which have a shape and no memory. A check that looks at
/// values is left out for them; all else runs there as on any device.
inline bool has_values(const at::Tensor& x) { return !x.is_meta(); }

}  // namespace lact::ops
