// Golden cases of the data of views: pictures brought to a size, and cameras.
#include <ATen/ATen.h>

#include "lact/data/views/camera_path.h"
#include "lact/data/views/normalize.h"
#include "lact/data/views/preprocess.h"
#include "lact/golden/kinds.h"

namespace lact::golden {

namespace {

struct PreprocessCase {
  std::string mode;
  std::vector<int64_t> target_size;  ///< height, width
  template <class Visitor>
  void visit(Visitor&& field) {
    field("mode", mode, "");
    field("target_size", target_size, "");
  }
};

struct NoCameraOptions {
  template <class Visitor>
  void visit(Visitor&&) {}
};

struct TurntableCase {
  int64_t num_views = 0, w = 0, h = 0;
  double hfov = 0, min_radius = 0, max_radius = 0, elevation = 0;
  std::vector<double> up;
  template <class Visitor>
  void visit(Visitor&& field) {
    field("num_views", num_views, "");
    field("w", w, "");
    field("h", h, "");
    field("hfov", hfov, "");
    field("min_radius", min_radius, "");
    field("max_radius", max_radius, "");
    field("elevation", elevation, "");
    field("up", up, "");
  }
};

std::vector<data::Camera> cameras_of_poses(const at::Tensor& poses) {
  LACT_CHECK(poses.dim() == 3 && poses.size(1) == 4 && poses.size(2) == 4,
             "c2w has shape {}, expected [views, 4, 4]", poses.sizes().vec());
  const at::Tensor wide = poses.to(at::kDouble).contiguous();
  const auto values = wide.accessor<double, 3>();
  std::vector<data::Camera> cameras(poses.size(0));
  for (int64_t view = 0; view < poses.size(0); ++view)
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j) cameras[view].camera_to_world[i][j] = values[view][i][j];
  return cameras;
}

void expect_cameras(Run& run, const std::string& prefix, const std::vector<data::Camera>& cameras) {
  run.expect(prefix + "_c2w", data::camera_to_world_of(cameras));
  run.expect(prefix + "_fxfycxcy", data::intrinsics_of(cameras));
}

}  // namespace

void run_image_preprocess(Run& run) {
  PreprocessCase options;
  options::read(run.options(), options, "options");
  LACT_CHECK(options.target_size.size() == 2, "options.target_size has {} entries, expected 2",
             options.target_size.size());
  const int64_t height = options.target_size[0], width = options.target_size[1];
  const at::Tensor image = run.input("image");
  const at::Tensor resized = data::resize_and_crop(image, height, width);
  const at::Tensor composited = data::composite_on_white(resized);
  run.expect("resized_cropped", resized);
  run.expect("composited", composited);
  run.expect("output", data::unit_planes(composited));
  const at::Tensor given = run.input("fxfycxcy_in").to(at::kDouble);
  data::Camera camera;
  camera.height = image.size(0);
  camera.width = image.size(1);
  camera.fx = given[0].item<double>();
  camera.fy = given[1].item<double>();
  camera.cx = given[2].item<double>();
  camera.cy = given[3].item<double>();
  run.expect("fxfycxcy_out", data::intrinsics_of({data::resize_and_crop(camera, height, width)})[0]);
}

void run_cameras(Run& run) {
  NoCameraOptions none;
  options::read(run.options(), none, "options");
  const auto given = cameras_of_poses(run.input("c2w"));
  run.expect("normalised", data::camera_to_world_of(data::to_scene(data::mean_pose_frame(given), given)));
  TurntableCase stored;
  options::read(run.description().at("turntable"), stored, "turntable");
  LACT_CHECK(stored.up.size() == 3, "turntable.up has {} entries, expected 3", stored.up.size());
  data::Turntable turntable;
  turntable.num_views = stored.num_views;
  turntable.width = stored.w;
  turntable.height = stored.h;
  turntable.horizontal_view = stored.hfov;
  turntable.min_radius = stored.min_radius;
  turntable.max_radius = stored.max_radius;
  turntable.elevation = stored.elevation;
  turntable.up = {stored.up[0], stored.up[1], stored.up[2]};
  auto cameras = data::turntable_cameras(turntable);
  expect_cameras(run, "turntable", cameras);
  int64_t between = 0;
  options::read(run.description().at("interpolated_per_pair"), between, "interpolated_per_pair");
  cameras.resize(std::min<size_t>(cameras.size(), 3));
  expect_cameras(run, "interpolated",
                 data::interpolate_cameras(cameras, between, data::Interpolation::linear));
}

}  // namespace lact::golden
