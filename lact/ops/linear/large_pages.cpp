#include "lact/ops/linear/large_pages.h"

#include <ATen/ATen.h>
#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace lact::ops {

at::Tensor empty_in_large_pages(at::IntArrayRef sizes, at::ScalarType type) {
  constexpr size_t kLargePage = size_t(2) << 20;
  const size_t bytes = size_t(c10::multiply_integers(sizes)) * c10::elementSize(type);
  if (bytes < kLargePage) return at::empty(sizes, type);
  void* memory = nullptr;
  if (posix_memalign(&memory, kLargePage, bytes) != 0) throw std::bad_alloc();
  // Where the system has no large pages, small ones do.
  madvise(memory, bytes / kLargePage * kLargePage, MADV_HUGEPAGE);
  return at::from_blob(memory, sizes, &std::free, type);
}

}  // namespace lact::ops
