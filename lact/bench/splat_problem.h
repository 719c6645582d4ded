// Random Gaussians and a camera, the same that bench/peers/splat.py draws.
#pragma once

#include <string>
#include <vector>

#include "lact/ops/splat/splat.h"

namespace lact::bench {

struct SplatShape {
  int64_t gaussians, side;  ///< the picture has side x side pixels
  std::string name() const;
};

struct SplatProblem {
  explicit SplatProblem(const SplatShape& shape);

  /// Image, alpha and depth; with `backward` also the gradients of the five fields.
  std::vector<at::Tensor> run(bool backward) const { return run(backward, camera); }
  /// The same through a small window in the middle of the picture, for which the reference form has the
  /// memory.
  std::vector<at::Tensor> run_window(bool backward) const;

  SplatShape shape;
  ops::Gaussians gaussians;
  ops::SplatCamera camera;
  at::Tensor cotangent;  ///< [5, H, W]: of image, alpha and depth

 private:
  std::vector<at::Tensor> run(bool backward, const ops::SplatCamera& seen_from) const;
};

}  // namespace lact::bench
