// LPIPS (version 0.1): how different two pictures look, measured in the features of a network that was
// trained to recognise things. Differentiable, so that it can be a loss. The weights are not part of this
// software.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

#include "lact/models/lpips/lpips_network.h"

namespace lact::models {

/// Smaller pictures have no features left in the last layers.
inline constexpr int64_t kLpipsSmallestSide = 32;

class Lpips {
 public:
  /// From a folder with the network and the linear layers (lpips_files.h). Throws a sentence that names the
  /// file.
  Lpips(LpipsNetwork network, const std::string& folder);

  LpipsNetwork network() const { return network_; }

  /// Pictures [N, 3, H, W] in [0, 1], at least 32 pixels on each side -> distances [N], float32.
  at::Tensor operator()(const at::Tensor& a, const at::Tensor& b) const;

  /// The share of each tapped layer: [N, taps].
  at::Tensor by_layer(const at::Tensor& a, const at::Tensor& b) const;

 private:
  std::vector<at::Tensor> features(const at::Tensor& images) const;
  at::Tensor convolve(const at::Tensor& x, const std::string& layer, int64_t stride, int64_t padding) const;
  at::Tensor fire(const at::Tensor& x, const std::string& layer) const;

  LpipsNetwork network_;
  std::map<std::string, at::Tensor> weights_;
  std::vector<at::Tensor> heads_;  ///< [1, C, 1, 1] for each tap
};

}  // namespace lact::models
