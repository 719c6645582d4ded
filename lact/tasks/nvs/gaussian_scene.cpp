#include "lact/tasks/nvs/gaussian_scene.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "lact/base/error.h"
#include "lact/base/format.h"
#include "lact/io/gaussian_ply.h"
#include "lact/io/picture_sheet.h"
#include "lact/ops/splat/picture.h"

namespace lact::tasks::nvs {

namespace {

constexpr int64_t kRingViews = 12, kRingSide = 512;
constexpr double kRingElevation = 20;  // degrees

/// The places of the Gaussians that can be seen, [n, 3]; all where none can.
at::Tensor visible_places(const ops::Gaussians& gaussians) {
  const at::Tensor places = gaussians.means.detach().to(at::kCPU, at::kFloat);
  const at::Tensor chosen =
      gaussians.opacity_logits.detach().to(at::kCPU).sigmoid().gt(0.1).nonzero().squeeze(1);
  return chosen.numel() == 0 ? places : places.index_select(0, chosen);
}

/// The value below which this share of them lies.
double quantile_of(const at::Tensor& values, double share) {
  const at::Tensor sorted = std::get<0>(values.contiguous().sort());
  return sorted[int64_t(share * double(sorted.numel() - 1))].item<double>();
}

}  // namespace

ops::SplatCamera splat_camera_of(const data::Camera& camera) {
  const at::Tensor intrinsics = at::tensor({camera.fx, camera.fy, camera.cx, camera.cy}, at::kDouble);
  const at::Tensor pose = at::empty({4, 4}, at::kDouble);
  for (size_t i = 0; i < 4; ++i)
    std::copy(camera.camera_to_world[i].begin(), camera.camera_to_world[i].end(),
              pose.data_ptr<double>() + 4 * i);
  return ops::splat_camera(intrinsics, pose, camera.height, camera.width);
}

data::Point upwards_of(const ops::Gaussians& gaussians) {
  const at::Tensor places = visible_places(gaussians);
  std::array<double, 3> extent{};
  for (int64_t axis = 0; axis < 3; ++axis)
    extent[size_t(axis)] =
        quantile_of(places.select(1, axis), 0.9) - quantile_of(places.select(1, axis), 0.1);
  const bool flat_in_z = extent[2] < extent[0] && extent[2] < extent[1];
  return flat_in_z ? data::Point{0, 0, 1} : data::Point{0, -1, 0};
}

data::Turntable turntable_around(const ops::Gaussians& gaussians, const std::optional<data::Point>& up) {
  const at::Tensor places = visible_places(gaussians);
  data::Turntable turntable;
  turntable.num_views = kRingViews;
  turntable.width = turntable.height = kRingSide;
  turntable.elevation = kRingElevation;
  turntable.swing = 0;
  turntable.up = up.value_or(upwards_of(gaussians));
  for (int64_t axis = 0; axis < 3; ++axis)
    turntable.center[size_t(axis)] = quantile_of(places.select(1, axis), 0.5);
  const auto& [x, y, z] = turntable.center;
  const at::Tensor distances = (places - at::tensor({x, y, z}, at::kDouble).to(places.options())).norm(2, 1);
  const double most = quantile_of(distances, 0.9), half = quantile_of(distances, 0.5);
  double radius = 1.1 * (half > 0 ? std::min(most, 2 * half) : most);
  if (!(radius > 0)) radius = gaussians.log_scales.detach().exp().max().item<double>();
  const double half_view = turntable.horizontal_view / 2 * std::numbers::pi / 180;
  turntable.min_radius = turntable.max_radius = std::clamp(radius, 1e-6, 1e6) / std::sin(half_view);
  return turntable;
}

GaussianScene::GaussianScene(ops::Gaussians gaussians, std::string name, const GaussianSceneOptions& options)
    : gaussians_(std::move(gaussians)),
      name_(std::move(name)),
      background_(options.background),
      knows_photos_(!options.photos.empty()) {
  LACT_CHECK(gaussians_.size() > 0, "{}: holds no Gaussians", name_);
  LACT_CHECK(options.photos.empty() || !options.up, "{}: its photos tell what is up, expected no other word",
             name_);
  cameras_ = knows_photos_ ? data::cameras_of(data::load_capture(options.photos, options.reading))
                           : data::turntable_cameras(turntable_around(gaussians_, options.up));
  LACT_CHECK(!cameras_.empty(), "{}: has no photos", options.photos);
}

GaussianScene GaussianScene::open(const std::string& file, const GaussianSceneOptions& options) {
  return {io::read_gaussians(file), file, options};
}

at::Tensor GaussianScene::picture(const data::Camera& camera) const {
  return ops::splat_picture(gaussians_, splat_camera_of(camera), background_);
}

at::Tensor GaussianScene::render(const data::Camera& camera) const { return io::to_bytes(picture(camera)); }

std::string GaussianScene::details() const {
  return fmt::format("{} Gaussians, harmonics of degree {}{}", format_count(double(gaussians_.size())),
                     gaussians_.degree(),
                     knows_photos_ ? fmt::format(", {} photos", cameras_.size()) : std::string());
}

}  // namespace lact::tasks::nvs
