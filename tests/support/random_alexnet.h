// The files of a network for LPIPS, of random weights.
#pragma once

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "lact/io/safetensors.h"
#include "support/temporary_folder.h"

namespace lact::testing {

/// AlexNet of random weights in the files that Lpips reads.
struct RandomAlexNet {
  struct Layer {
    int64_t index, in, out, size, stride, padding;
  };
  static constexpr Layer kLayers[] = {{0, 3, 64, 11, 4, 2},
                                      {3, 64, 192, 5, 1, 2},
                                      {6, 192, 384, 3, 1, 1},
                                      {8, 384, 256, 3, 1, 1},
                                      {10, 256, 256, 3, 1, 1}};

  RandomAlexNet() {
    at::manual_seed(8);
    for (const auto& layer : kLayers) {
      const std::string name = fmt::format("features.{}.", layer.index);
      const double fan_in = double(layer.in * layer.size * layer.size);
      features[name + "weight"] =
          at::randn({layer.out, layer.in, layer.size, layer.size}) * std::sqrt(2 / fan_in);
      features[name + "bias"] = at::randn({layer.out}) * 0.1;
      heads[fmt::format("lin{}.model.1.weight", heads.size())] = at::rand({1, layer.out, 1, 1});
    }
    io::write_safetensors(folder / "alexnet_features.safetensors", {features, {}});
    io::write_safetensors(folder / "lpips_lin_alex_v0.1.safetensors", {heads, {}});
  }

  /// Features of every layer, of unit length at every place.
  std::vector<at::Tensor> taps(const at::Tensor& picture) const {
    const auto channels = [](std::vector<double> values) {
      return at::tensor(values, at::kFloat).view({1, 3, 1, 1});
    };
    // The mean and deviation of ImageNet's pictures, told for the range -1 to 1.
    at::Tensor x = (picture * 2 - 1 - channels({-.030, -.088, -.188})) / channels({.458, .448, .450});
    std::vector<at::Tensor> all;
    for (const auto& layer : kLayers) {
      const std::string name = fmt::format("features.{}.", layer.index);
      if (layer.index == 3 || layer.index == 6) x = at::max_pool2d(x, 3, 2);
      x = at::relu(at::conv2d(x, features.at(name + "weight"), features.at(name + "bias"), layer.stride,
                              layer.padding));
      all.push_back(x / x.square().sum(1, true).sqrt().clamp_min(1e-10));
    }
    return all;
  }

  TemporaryFolder folder;
  std::map<std::string, at::Tensor> features, heads;
};

}  // namespace lact::testing
