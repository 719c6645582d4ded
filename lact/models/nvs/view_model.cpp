#include "lact/models/nvs/view_model.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/mixers/sharding.h"
#include "lact/models/common/weights_fit.h"
#include "lact/models/nvs/long_lrm.h"
#include "lact/models/nvs/model.h"

namespace lact::models {

void NvsState::visit(StateVisitor& visitor, const std::string& prefix) {
  for (size_t i = 0; i < memories.size(); ++i)
    memories[i]->visit(visitor, shared ? prefix : fmt::format("{}blocks.{}.", prefix, i));
  if (!gaussians) return;
  for (size_t i = 0; i < ops::kGaussianFields.size(); ++i)
    visitor.tensor(fmt::format("{}gaussians.{}", prefix, ops::kGaussianFields[i]), *gaussians->fields()[i],
                   0);
}

std::unique_ptr<State> NvsState::clone() const {
  auto copy = std::make_unique<NvsState>();
  copy->memories = clone_all(memories);
  copy->shared = shared;
  copy->gaussians = gaussians;
  return copy;
}

ViewModel::ViewModel(const NvsConfig& config) : config_(config) {
  config.check();
  check_parameters(cost(config));
}

void ViewModel::set_world(const parallel::World& world) {
  lact::check_heads(*this, world);
  world_ = world;
}

void ViewModel::set_recompute(nn::Recompute what) {
  recompute_ = lender_ ? nn::Recompute::blocks : what;
  nn::set_recompute_below(*this, recompute_);
}

std::unique_ptr<NvsState> ViewModel::reconstruct(const std::vector<at::Tensor>& images,
                                                 const at::Tensor& intrinsics,
                                                 const at::Tensor& camera_to_world,
                                                 const ReconstructOptions& options) {
  at::NoGradGuard no_grad;
  const auto views = int64_t(images.size());
  LACT_CHECK(views > 0, "[nvs] there are no input views, expected at least 1");
  LACT_CHECK(intrinsics.dim() == 2 && intrinsics.size(0) == views,
             "[nvs] the intrinsics have shape {}, expected [{}, 4]", intrinsics.sizes().vec(), views);
  std::vector<io::ImageSize> sizes;
  for (int64_t i = 0; i < views; ++i) {
    check_input_image(images[size_t(i)], i);
    sizes.push_back({images[size_t(i)].size(1), images[size_t(i)].size(2)});
  }
  const auto range = [&](int64_t first, int64_t count) -> InputViews {
    return {{images.begin() + first, images.begin() + first + count},
            intrinsics.narrow(0, first, count),
            camera_to_world.narrow(0, first, count)};
  };
  return reconstruct(sizes, range, options);
}

std::shared_ptr<ViewModel> make_view_model(const NvsConfig& config) {
  if (config.is_long_lrm()) return std::make_shared<LongLrm>(config);
  return std::make_shared<NvsModel>(config);
}

void check_input_image(const at::Tensor& image, int64_t index, const io::ImageSize* expected) {
  LACT_CHECK(image.dim() == 3 && image.size(0) == kColorChannels && image.is_floating_point(),
             "[nvs] image {} has shape {} and type {}, expected [3, H, W] of floating point numbers", index,
             image.sizes().vec(), toString(image.scalar_type()));
  LACT_CHECK(expected == nullptr || (image.size(1) == expected->height && image.size(2) == expected->width),
             "[nvs] image {} has shape {}, expected [3, {}, {}]", index, image.sizes().vec(),
             expected->height, expected->width);
}

}  // namespace lact::models
