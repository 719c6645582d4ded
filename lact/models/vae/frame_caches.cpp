#include "lact/models/vae/frame_caches.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"

namespace lact::models {

at::Tensor& FrameCaches::next(const at::Tensor& x, int64_t count) {
  LACT_ASSERT(x.dim() == 5);
  const std::vector<int64_t> sizes = {x.size(0), x.size(1), count, x.size(3), x.size(4)};
  if (next_ == kept_.size()) kept_.push_back(at::zeros(sizes, x.options()));
  at::Tensor& kept = kept_[next_++];
  LACT_CHECK(kept.sizes() == sizes,
             "[vae] a piece has batch and picture size {} x {} x {} where the pieces before had {} x {} x {}",
             x.size(0), x.size(3), x.size(4), kept.size(0), kept.size(3), kept.size(4));
  return kept;
}

void FrameCaches::reset() {
  for (at::Tensor& kept : kept_) kept = at::zeros_like(kept);
  frames_ = 0;
}

void FrameCaches::visit(StateVisitor& visitor, const std::string& prefix) {
  visitor.number(prefix + "frames", frames_);
  for (size_t i = 0; i < kept_.size(); ++i)
    visitor.tensor(prefix + "kept." + std::to_string(i), kept_[i], -1);
}

at::Tensor with_frames_before(const at::Tensor& x, int64_t count, FrameCaches* caches) {
  if (caches == nullptr) return at::constant_pad_nd(x, {0, 0, 0, 0, count, 0});
  at::Tensor& kept = caches->next(x, count);
  const at::Tensor joined = at::cat({kept, x}, 2);
  kept = joined.narrow(2, x.size(2), count).clone();  // a view would keep the whole piece alive
  return joined;
}

}  // namespace lact::models
