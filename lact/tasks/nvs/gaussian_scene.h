// Gaussians of a .ply file as a scene to look at. Their coordinates are those of the photos they were made
// of.
#pragma once

#include <array>
#include <optional>

#include "lact/data/views/camera_path.h"
#include "lact/data/views/capture.h"
#include "lact/ops/splat/splat.h"
#include "lact/tasks/nvs/drawable_scene.h"

namespace lact::tasks::nvs {

struct GaussianSceneOptions {
  std::array<double, 3> background = {1, 1, 1};  ///< red, green, blue, 0 to 1
  std::string photos{};                          ///< a capture whose cameras are where to look from; "": none
  data::CaptureOptions reading{};                ///< of it
  std::optional<data::Point> up{};               ///< of a ring of cameras; by default upwards_of
};

class GaussianScene : public DrawableScene {
 public:
  /// Without photos, cameras stand in a ring around the Gaussians.
  GaussianScene(ops::Gaussians gaussians, std::string name, const GaussianSceneOptions& options = {});

  static GaussianScene open(const std::string& file, const GaussianSceneOptions& options = {});

  /// float32 [3, H, W], 0 to 1.
  at::Tensor picture(const data::Camera& camera) const;

  at::Tensor render(const data::Camera& camera) const override;
  const std::string& name() const override { return name_; }
  std::string details() const override;
  const std::vector<data::Camera>& cameras() const override { return cameras_; }
  bool knows_photos() const override { return knows_photos_; }
  data::SceneFrame frame() const override { return {}; }
  int64_t patch_size() const override { return 1; }
  const ops::Gaussians& gaussians() const { return gaussians_; }

 private:
  ops::Gaussians gaussians_;
  std::string name_;
  std::array<double, 3> background_;
  std::vector<data::Camera> cameras_;
  bool knows_photos_;
};

ops::SplatCamera splat_camera_of(const data::Camera& camera);

/// Once around the median of the Gaussians that can be seen, so far away that nine tenths of them are in the
/// picture, or twice the distance within which half of them lie: what is lost in the distance does not count.
data::Turntable turntable_around(const ops::Gaussians& gaussians, const std::optional<data::Point>& up = {});

/// -y, as structure from motion and most programs for Gaussians have it; z where the scene is flattest along
/// z, as in scenes made by graphics programs.
data::Point upwards_of(const ops::Gaussians& gaussians);

}  // namespace lact::tasks::nvs
