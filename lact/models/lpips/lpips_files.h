// The weights of LPIPS in the files that people have: torchvision's checkpoints, and the linear layers that
// the authors of LPIPS publish, either of them also as safetensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

#include "lact/models/lpips/lpips_network.h"

namespace lact::models {

/// Tensors of one file, taken by name and shape; a mistake gives a sentence that names the file.
class LpipsFile {
 public:
  /// Reads the tensors whose name begins with `prefix`, all of which must be finite.
  LpipsFile(const std::string& path, const std::string& prefix);

  /// float32
  at::Tensor take(const std::string& name, const std::vector<int64_t>& shape) const;

 private:
  std::string path_;
  std::map<std::string, at::Tensor> tensors_;
};

/// In a folder, the first of: vgg16_features.safetensors, vgg16.safetensors, vgg16-*.pth (as torchvision
/// names its downloads), vgg16.pth; likewise squeezenet1_1 and alexnet. Throws a sentence where there is
/// none.
std::string find_lpips_features(LpipsNetwork network, const std::string& folder);

/// The first of: lpips_lin_vgg_v0.1.safetensors, vgg.pth; likewise squeeze and alex.
std::string find_lpips_heads(LpipsNetwork network, const std::string& folder);

}  // namespace lact::models
