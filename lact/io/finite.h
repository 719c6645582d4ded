// Weights that are no numbers are found where they are read, with their name, and not as NaN in a result.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>

namespace lact::io {

/// Whether no number is infinite or NaN. One pass over the bytes at the speed of memory; true for whole
/// numbers.
bool all_finite(const at::Tensor& tensor);

/// Throws a sentence that names `path` and the tensor unless all of them are finite.
void check_finite(const std::map<std::string, at::Tensor>& tensors, const std::string& path);

}  // namespace lact::io
