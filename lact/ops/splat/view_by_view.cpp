#include "lact/ops/splat/view_by_view.h"

#include <ATen/ATen.h>
#include <torch/autograd.h>
#include <torch/custom_class.h>

#include "lact/base/error.h"
#include "lact/ops/dispatch/apply_function.h"

namespace lact::ops {

namespace {

struct Shots : torch::CustomClassHolder {
  std::vector<SplatCamera> cameras;
  SplatOptions options;
};

Gaussians gaussians_of(const torch::autograd::variable_list& fields) {
  return {fields[0], fields[1], fields[2], fields[3], fields[4]};
}

struct ViewByView : torch::autograd::Function<ViewByView> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& means,
                            const at::Tensor& quaternions, const at::Tensor& log_scales,
                            const at::Tensor& opacity_logits, const at::Tensor& harmonics,
                            const c10::intrusive_ptr<Shots>& shots) {
    at::NoGradGuard no_grad;
    const torch::autograd::variable_list fields = {means, quaternions, log_scales, opacity_logits, harmonics};
    std::vector<at::Tensor> pictures;
    for (const SplatCamera& camera : shots->cameras)
      pictures.push_back(splat(gaussians_of(fields), camera, shots->options).image);
    context->save_for_backward(fields);
    context->saved_data["shots"] = c10::IValue::make_capsule(shots);
    return at::stack(pictures);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& upstream) {
    const auto held = context->saved_data["shots"].toCapsule();
    const auto& shots = static_cast<const Shots&>(*held);
    torch::autograd::variable_list leaves = context->get_saved_variables();
    for (at::Tensor& field : leaves) field = field.detach().requires_grad_(true);
    at::AutoGradMode with_gradients(true);
    for (size_t view = 0; view < shots.cameras.size(); ++view)
      splat(gaussians_of(leaves), shots.cameras[view], shots.options)
          .image.backward(upstream[0][int64_t(view)]);
    torch::autograd::variable_list gradients;
    for (const at::Tensor& leaf : leaves) gradients.push_back(leaf.grad());
    gradients.emplace_back();  // of the cameras
    return gradients;
  }
};

}  // namespace

at::Tensor splat_view_by_view(const Gaussians& gaussians, const std::vector<SplatCamera>& cameras,
                              const SplatOptions& options) {
  LACT_CHECK(!cameras.empty(), "[splat] there is no camera, expected at least 1");
  for (const SplatCamera& camera : cameras)
    LACT_CHECK(camera.height == cameras[0].height && camera.width == cameras[0].width,
               "[splat] pictures of {} x {} and of {} x {} pixels, expected one size", cameras[0].height,
               cameras[0].width, camera.height, camera.width);
  LACT_CHECK(!options.screen_offsets.defined(), "[splat] screen offsets are for one picture");
  auto shots = c10::make_intrusive<Shots>();
  shots->cameras = cameras;
  shots->options = options;
  return apply_function<ViewByView>(gaussians.means, gaussians.quaternions, gaussians.log_scales,
                                    gaussians.opacity_logits, gaussians.harmonics, shots);
}

}  // namespace lact::ops
