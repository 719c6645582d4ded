// Golden cases of Gaussian splatting: projection, colours, pictures.
#include <ATen/ATen.h>

#include "lact/golden/kinds.h"
#include "lact/ops/splat/projection.h"

namespace lact::golden {

namespace {

/// Constants of the stored case; the library has one set of them.
struct SplatCase {
  int64_t width = 0, height = 0, sh_degree = 0, tile = 16;
  double blur = 0, near = 0, far = 0;
  double radius_factor = ops::kRadiusInDeviations, alpha_cap = ops::kAlphaCap;
  double alpha_threshold = ops::kAlphaThreshold, transmittance_stop = ops::kTransmittanceStop;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("width", width, "");
    field("height", height, "");
    field("sh_degree", sh_degree, "");
    field("tile", tile, "");
    field("blur", blur, "");
    field("near", near, "");
    field("far", far, "");
    field("radius_factor", radius_factor, "");
    field("alpha_cap", alpha_cap, "");
    field("alpha_threshold", alpha_threshold, "");
    field("transmittance_stop", transmittance_stop, "");
  }

  ops::SplatOptions translated() const {
    LACT_CHECK(
        radius_factor == ops::kRadiusInDeviations && alpha_cap == ops::kAlphaCap &&
            alpha_threshold == ops::kAlphaThreshold && transmittance_stop == ops::kTransmittanceStop,
        "options ask for radius_factor {}, alpha_cap {}, alpha_threshold {} and transmittance_stop {}; "
        "these are {}, {}, {} and {}",
        radius_factor, alpha_cap, alpha_threshold, transmittance_stop, ops::kRadiusInDeviations,
        ops::kAlphaCap, ops::kAlphaThreshold, ops::kTransmittanceStop);
    ops::SplatOptions options;
    options.degree = sh_degree;
    options.blur = blur;
    options.near = near;
    options.far = far;
    return options;
  }
};

SplatCase read_case(const Run& run) {
  SplatCase options;
  options::read(run.options(), options, "options");
  return options;
}

std::vector<ops::SplatCamera> read_cameras(Run& run, const SplatCase& size) {
  const at::Tensor poses = run.input("viewmats").to(at::kDouble).contiguous();
  const at::Tensor numbers = run.input("intrinsics").to(at::kDouble).contiguous();
  const auto pose = poses.accessor<double, 3>();
  const auto number = numbers.accessor<double, 2>();
  std::vector<ops::SplatCamera> cameras;
  for (int64_t i = 0; i < poses.size(0); ++i) {
    ops::SplatCamera camera = {size.height,  size.width,   number[i][0],
                               number[i][1], number[i][2], number[i][3]};
    for (int row = 0; row < 3; ++row)
      for (int column = 0; column < 4; ++column) camera.world_to_camera[row][column] = pose[i][row][column];
    cameras.push_back(camera);
  }
  return cameras;
}

/// Projections into all cameras, compared with stored tensors of these names.
struct Projections {
  std::vector<at::Tensor> means, depths, conics, radii;

  void add(const ops::reference::Projection& one) {
    means.push_back(one.means);
    depths.push_back(one.depths);
    conics.push_back(one.conics);
    radii.push_back(one.radii);
  }
  void expect(Run& run, const std::string& prefix) const {
    run.expect(prefix + "means2d", at::stack(means));
    run.expect(prefix + "depths", at::stack(depths));
    run.expect(prefix + "conics", at::stack(conics));
    expect_radii(run, at::stack(radii));
  }
  /// Whole numbers are equal or wrong.
  static void expect_radii(Run& run, const at::Tensor& radii) {
    LACT_CHECK(at::equal(radii, run.input("radii")), "radii differ from the stored ones");
  }
};

enum class Activation { none, add_half_clamp };
constexpr std::array<std::pair<Activation, std::string_view>, 2> enum_names(Activation) {
  return {{{Activation::none, "none"}, {Activation::add_half_clamp, "add_half_clamp"}}};
}

struct HarmonicsCase {
  int64_t degree = 0, coefficients = 0;
  Activation activation = Activation::none;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("degree", degree, "");
    field("coefficients", coefficients, "");
    field("activation", activation, "");
  }
};

}  // namespace

void run_splat_project(Run& run) {
  const SplatCase options = read_case(run);
  ops::Gaussians gaussians;
  gaussians.means = run.input("means");
  gaussians.quaternions = run.input("quats");
  gaussians.log_scales = run.input("log_scales");
  Projections all;
  for (const auto& camera : read_cameras(run, options))
    all.add(ops::reference::project(gaussians, camera, options.translated()));
  all.expect(run, "output.");
  run.ignore("clamped");
  run.expect_loss_and_gradients({{"means2d", at::stack(all.means)},
                                 {"depths", at::stack(all.depths)},
                                 {"conics", at::stack(all.conics)}});
}

void run_splat_harmonics(Run& run) {
  HarmonicsCase options;
  options::read(run.options(), options, "options");
  const at::Tensor coefficients = run.input("coeffs");
  LACT_CHECK(coefficients.size(1) == options.coefficients, "coeffs have {} coefficients, options say {}",
             coefficients.size(1), options.coefficients);
  const at::Tensor raw = ops::reference::spherical_harmonics(run.input("dirs"), coefficients, options.degree);
  run.expect("raw", raw);
  const at::Tensor output = options.activation == Activation::none ? raw : (raw + 0.5).clamp_min(0);
  run.expect("output", output);
  run.expect_loss_and_gradients(output);
}

void run_splat_render(Run& run) {
  const SplatCase size = read_case(run);
  ops::SplatOptions options = size.translated();
  const at::Tensor background = run.input("background").to(at::kDouble);
  for (int channel = 0; channel < 3; ++channel)
    options.background[channel] = background[channel].item<double>();
  const ops::Gaussians gaussians = {run.input("means"), run.input("quats"), run.input("log_scales"),
                                    run.input("opacity_logits"), run.input("sh")};
  Projections projections;
  std::vector<at::Tensor> images, alphas, colours, radii;
  for (const auto& camera : read_cameras(run, size)) {
    projections.add(ops::reference::project(gaussians, camera, options));
    const at::Tensor seen = projections.radii.back().select(1, 0).gt(0).unsqueeze(1);
    colours.push_back(ops::reference::colours(gaussians, camera, options.degree) * seen);
    const ops::SplatImage picture = ops::splat(gaussians, camera, options);
    images.push_back(picture.image.permute({1, 2, 0}));
    alphas.push_back(picture.alpha);
    radii.push_back(picture.radii);
  }
  projections.expect(run, "");
  run.expect("colors", at::stack(colours));
  Projections::expect_radii(run, at::stack(radii));
  const std::map<std::string, at::Tensor> outputs = {{"image", at::stack(images)},
                                                     {"alpha", at::stack(alphas)}};
  for (const auto& [name, output] : outputs) run.expect("output." + name, output);
  run.expect_loss_and_gradients(outputs);
}

}  // namespace lact::golden
