#include "lact/ops/splat/splat_pass.h"

#include <ATen/ATen.h>

#include <atomic>

#include "lact/ops/dispatch/work_items.h"

namespace lact::ops::fused {

namespace {

using kernels::kSplatSums;
using kernels::kTilePixels;

/// Gaussians that a worker takes at a time.
constexpr int64_t kGaussiansAtATime = 1024;

const auto& projection_kernels(float) { return kernels::splat_projection_f32_kernels(); }
const auto& projection_kernels(double) { return kernels::splat_projection_f64_kernels(); }
const auto& composition_kernels(float) { return kernels::splat_composition_f32_kernels(); }
const auto& composition_kernels(double) { return kernels::splat_composition_f64_kernels(); }

template <class Number>
kernels::SplatView<Number> view_of(const SplatCamera& camera, const SplatOptions& options) {
  kernels::SplatView<Number> view{};
  const auto centre = camera.centre();
  const auto limits = jacobian_limits(camera);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) view.rotation[i][j] = Number(camera.world_to_camera[i][j]);
    view.translation[i] = Number(camera.world_to_camera[i][3]);
    view.centre[i] = Number(centre[i]);
  }
  view.fx = Number(camera.fx);
  view.fy = Number(camera.fy);
  view.cx = Number(camera.cx);
  view.cy = Number(camera.cy);
  view.width = Number(camera.width);
  view.height = Number(camera.height);
  for (int i = 0; i < 4; ++i) view.limits[i] = Number(limits[i]);
  view.near = Number(options.near);
  view.far = Number(options.far);
  view.blur = Number(options.blur);
  view.radius = Number(kRadiusInDeviations);
  view.alpha_threshold = Number(kAlphaThreshold);
  return view;
}

template <class Number>
Number* numbers(const at::Tensor& x) {
  return x.defined() ? x.data_ptr<Number>() : nullptr;
}

template <class Number>
kernels::SplatScene<Number> scene_of(const Gaussians& gaussians, const at::Tensor& offsets, int64_t degree) {
  return {numbers<Number>(gaussians.means),      numbers<Number>(gaussians.quaternions),
          numbers<Number>(gaussians.log_scales), numbers<Number>(gaussians.opacity_logits),
          numbers<Number>(gaussians.harmonics),  numbers<Number>(offsets),
          gaussians.harmonics.size(1),           int(std::min(degree, gaussians.degree()))};
}
template <class Number>
kernels::SplatScene<const Number> constant(const kernels::SplatScene<Number>& scene) {
  return {scene.means,     scene.quaternions,    scene.log_scales,   scene.opacity_logits,
          scene.harmonics, scene.screen_offsets, scene.coefficients, scene.degree};
}

template <class Number>
kernels::SplatRecord<Number>* records_of(const SplatPass& pass) {
  return reinterpret_cast<kernels::SplatRecord<Number>*>(pass.records.data_ptr<Number>());
}

template <class Number>
kernels::SplatTiles<Number> tiles_of(const SplatPass& pass) {
  const auto& back = pass.options.background;
  return {records_of<Number>(pass),
          reinterpret_cast<const kernels::SplatPair*>(pass.lists.pairs.data_ptr<int32_t>()),
          pass.lists.starts.data_ptr<int64_t>(),
          pass.camera.width,
          pass.camera.height,
          pass.lists.columns,
          {Number(back[0]), Number(back[1]), Number(back[2])},
          Number(kAlphaCap),
          Number(kAlphaThreshold),
          Number(kTransmittanceStop)};
}

/// body(begin, end) for all Gaussians.
template <class Body>
void over_gaussians(int64_t count, const Body& body) {
  for_each_item((count + kGaussiansAtATime - 1) / kGaussiansAtATime, [&](int64_t item, int64_t) {
    body(item * kGaussiansAtATime, std::min(count, (item + 1) * kGaussiansAtATime));
  });
}

template <class Number>
SplatImage forward_of(SplatPass& pass, const Gaussians& gaussians) {
  const int64_t count = gaussians.size(), height = pass.camera.height, width = pass.camera.width;
  const auto type = gaussians.means.options();
  const SplatImage result = {at::empty({3, height, width}, type), at::empty({height, width}, type),
                             at::empty({height, width}, type), at::empty({count, 2}, type.dtype(at::kLong))};
  pass.records = at::empty({count, 16}, type);
  const auto scene = constant(scene_of<Number>(gaussians, pass.options.screen_offsets, pass.options.degree));
  const auto view = view_of<Number>(pass.camera, pass.options);
  auto* const radii = result.radii.data_ptr<int64_t>();
  const auto& kernels = projection_kernels(Number());
  std::atomic<bool> finite = true;
  over_gaussians(count, [&](int64_t begin, int64_t end) {
    for (const at::Tensor* field : gaussians.fields()) {
      const int64_t width = field->numel() / count;
      if (!kernels.finite(numbers<Number>(*field) + begin * width, (end - begin) * width)) finite = false;
    }
    kernels.forward(scene, view, begin, end, records_of<Number>(pass), radii);
  });
  if (!finite) check_finite(gaussians);

  pass.lists = tile_lists(records_of<Number>(pass), count, height, width);
  const int64_t num_tiles = pass.lists.rows * pass.lists.columns;
  using Index = kernels::SplatIndex<Number>;
  pass.left = at::empty({num_tiles, kTilePixels}, type);
  pass.stops = at::empty({num_tiles, kTilePixels}, c10::CppTypeToScalarType<Index>::value);
  const auto tiles = tiles_of<Number>(pass);
  const kernels::SplatPicture<Number> picture = {numbers<Number>(result.image), numbers<Number>(result.alpha),
                                                 numbers<Number>(result.depth)};
  const kernels::SplatKept<Number> kept = {numbers<Number>(pass.left), numbers<Index>(pass.stops)};
  const auto compose = composition_kernels(Number()).forward;
  for_each_item(num_tiles, [&](int64_t tile, int64_t) { compose(tiles, tile, picture, kept); });
  return result;
}

template <class Number>
SplatGradients backward_of(const SplatPass& pass, const Gaussians& gaussians, const at::Tensor& image,
                           const at::Tensor& alpha, const at::Tensor& depth) {
  const at::Tensor sums = at::empty({pass.lists.pairs.size(0), kSplatSums}, pass.records.options());
  const auto tiles = tiles_of<Number>(pass);
  const kernels::SplatPicture<const Number> picture = {numbers<Number>(image), numbers<Number>(alpha),
                                                       numbers<Number>(depth)};
  const kernels::SplatKept<const Number> kept = {numbers<Number>(pass.left),
                                                 numbers<kernels::SplatIndex<Number>>(pass.stops)};
  const auto compose = composition_kernels(Number()).backward;
  for_each_item(pass.left.size(0),
                [&](int64_t tile, int64_t) { compose(tiles, tile, picture, kept, numbers<Number>(sums)); });

  const auto like = [](const at::Tensor& x) { return at::empty(x.sizes(), x.options()); };
  const at::Tensor& offsets = pass.options.screen_offsets;
  const SplatGradients gradients = {map_fields(gaussians, like),
                                    offsets.defined() ? like(offsets) : at::Tensor()};
  const auto scene = constant(scene_of<Number>(gaussians, offsets, pass.options.degree));
  const auto out = scene_of<Number>(gradients.gaussians, gradients.screen_offsets, pass.options.degree);
  const auto view = view_of<Number>(pass.camera, pass.options);
  const auto project = projection_kernels(Number()).backward;
  const auto* firsts = pass.lists.firsts.data_ptr<int64_t>();
  over_gaussians(gaussians.size(), [&](int64_t begin, int64_t end) {
    project(scene, view, begin, end, records_of<Number>(pass), firsts, numbers<Number>(sums), out);
  });
  return gradients;
}

}  // namespace

SplatImage splat_forward(SplatPass& pass, const Gaussians& gaussians) {
  return gaussians.means.scalar_type() == at::kFloat ? forward_of<float>(pass, gaussians)
                                                     : forward_of<double>(pass, gaussians);
}

SplatGradients splat_backward(const SplatPass& pass, const Gaussians& gaussians, const at::Tensor& image,
                              const at::Tensor& alpha, const at::Tensor& depth) {
  return gaussians.means.scalar_type() == at::kFloat
             ? backward_of<float>(pass, gaussians, image, alpha, depth)
             : backward_of<double>(pass, gaussians, image, alpha, depth);
}

}  // namespace lact::ops::fused
