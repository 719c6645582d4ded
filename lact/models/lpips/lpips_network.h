// The networks that LPIPS looks through, as torchvision lays them out.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lact::models {

/// Numbers of different networks cannot be compared. The authors of LaCT train with vgg.
enum class LpipsNetwork { squeeze, alex, vgg };
constexpr std::array<std::pair<LpipsNetwork, std::string_view>, 3> enum_names(LpipsNetwork) {
  return {{{LpipsNetwork::squeeze, "squeeze"}, {LpipsNetwork::alex, "alex"}, {LpipsNetwork::vgg, "vgg"}}};
}

/// One step of a network: a convolution with ReLU, or a fire module, from `in` to `out` channels, or a
/// pooling.
struct LpipsStep {
  enum class Kind { convolution, fire, pool } kind;
  int64_t index = 0;  ///< of torchvision's list of layers
  int64_t in = 0, out = 0, size = 0, stride = 1, padding = 0;
  int64_t squeezed = 0;  ///< channels inside of a fire module
  bool ceil = false;     ///< a pooling that takes windows which reach past the edge
  bool tap = false;      ///< pictures are compared after it

  /// Such as "features.3".
  std::string layer() const { return "features." + std::to_string(index); }
};

const std::vector<LpipsStep>& lpips_steps(LpipsNetwork network);

/// The start of torchvision's file names: squeezenet1_1, alexnet or vgg16.
std::string_view torchvision_name(LpipsNetwork network);

}  // namespace lact::models
