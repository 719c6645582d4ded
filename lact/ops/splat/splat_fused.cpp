#include <ATen/ATen.h>
#include <torch/autograd.h>

#include <algorithm>

#include "lact/ops/splat/splat_pass.h"

namespace lact::ops::fused {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// A pass that autograd keeps.
struct KeptPass : torch::CustomClassHolder {
  SplatPass pass;
};

Gaussians gaussians_from(const variable_list& fields) {
  return {fields[0], fields[1], fields[2], fields[3], fields[4]};
}
at::Tensor contiguous(const at::Tensor& x) { return x.defined() ? x.contiguous() : x; }

struct Splat : torch::autograd::Function<Splat> {
  static variable_list forward(AutogradContext* context, const at::Tensor& means,
                               const at::Tensor& quaternions, const at::Tensor& log_scales,
                               const at::Tensor& opacity_logits, const at::Tensor& harmonics,
                               const at::Tensor& screen_offsets, const SplatCamera& camera,
                               const SplatOptions& options) {
    const Gaussians gaussians = {means, quaternions, log_scales, opacity_logits, harmonics};
    const auto kept = c10::make_intrusive<KeptPass>();
    kept->pass.camera = camera;
    kept->pass.options = options;
    // A variable kept here would keep its graph.
    kept->pass.options.screen_offsets =
        options.screen_offsets.defined() ? screen_offsets.detach() : at::Tensor();
    const SplatImage result = splat_forward(kept->pass, gaussians);
    context->save_for_backward({means, quaternions, log_scales, opacity_logits, harmonics});
    context->saved_data["pass"] = c10::IValue::make_capsule(kept);
    context->mark_non_differentiable({result.radii});
    return {result.image, result.alpha, result.depth, result.radii};
  }

  static variable_list backward(AutogradContext* context, variable_list incoming) {
    const auto kept = context->saved_data["pass"].toCapsule();
    const SplatPass& pass = static_cast<const KeptPass&>(*kept).pass;
    const SplatGradients gradients =
        splat_backward(pass, gaussians_from(context->get_saved_variables()), contiguous(incoming[0]),
                       contiguous(incoming[1]), contiguous(incoming[2]));
    const Gaussians& of = gradients.gaussians;
    return {of.means,     of.quaternions,           of.log_scales, of.opacity_logits,
            of.harmonics, gradients.screen_offsets, at::Tensor(),  at::Tensor()};
  }
};

}  // namespace

bool fits_splat(const Gaussians& gaussians, const SplatOptions& options) {
  const auto fields = gaussians.fields();
  return std::all_of(fields.begin(), fields.end(), [](const at::Tensor* x) { return x->is_cpu(); }) &&
         (!options.screen_offsets.defined() || options.screen_offsets.is_cpu());
}

SplatImage splat(const Gaussians& gaussians, const SplatCamera& camera, const SplatOptions& options) {
  const Gaussians packed = map_fields(gaussians, contiguous);
  const at::Tensor offsets = contiguous(options.screen_offsets);
  const auto fields = packed.fields();
  const bool wants_gradient =
      at::GradMode::is_enabled() &&
      (std::any_of(fields.begin(), fields.end(), [](const at::Tensor* x) { return x->requires_grad(); }) ||
       (offsets.defined() && offsets.requires_grad()));
  if (!wants_gradient) {
    SplatPass forgotten = {camera, options, {}, {}, {}, {}};
    forgotten.options.screen_offsets = offsets;
    return splat_forward(forgotten, packed);
  }
  // Autograd takes no undefined tensor.
  const at::Tensor given = offsets.defined() ? offsets : at::empty({0}, packed.means.options());
  const auto results = Splat::apply(packed.means, packed.quaternions, packed.log_scales,
                                    packed.opacity_logits, packed.harmonics, given, camera, options);
  return {results[0], results[1], results[2], results[3]};
}

}  // namespace lact::ops::fused
