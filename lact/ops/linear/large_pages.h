// Memory for matrices that are read from end to end for every token.
#pragma once

#include <ATen/core/Tensor.h>

namespace lact::ops {

/// An uninitialised tensor in large pages as far as it fills them: of small pages many more would have to be
/// fetched, cleared and looked up.
at::Tensor empty_in_large_pages(at::IntArrayRef sizes, at::ScalarType type);

}  // namespace lact::ops
