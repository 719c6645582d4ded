#include "lact/models/lpips/lpips.h"

#include <ATen/ATen.h>

#include <filesystem>
#include <optional>

#include "lact/base/error.h"
#include "lact/base/options.h"
#include "lact/io/finite.h"
#include "lact/io/safetensors.h"

namespace lact::models {

namespace {

constexpr int64_t kSmallestSide = 32;

/// One step of a network: a convolution with ReLU, or a fire module, from `in` to `out` channels, or a
/// pooling.
struct LpipsStep {
  enum class Kind { convolution, fire, pool } kind;
  int64_t index = 0;  ///< of torchvision's list of layers
  int64_t in = 0, out = 0, size = 0, stride = 1, padding = 0;
  int64_t squeezed = 0;  ///< channels inside of a fire module
  bool tap = false;      ///< pictures are compared after it
};

using Kind = LpipsStep::Kind;

LpipsStep fire_step(int64_t index, int64_t in, int64_t squeezed, int64_t out, bool tap) {
  return {.kind = Kind::fire, .index = index, .in = in, .out = out, .squeezed = squeezed, .tap = tap};
}

const std::vector<LpipsStep>& lpips_steps(LpipsNetwork network) {
  static const std::vector<LpipsStep> alex = {
      {.kind = Kind::convolution,
       .index = 0,
       .in = 3,
       .out = 64,
       .size = 11,
       .stride = 4,
       .padding = 2,
       .tap = true},
      {.kind = Kind::pool},
      {.kind = Kind::convolution, .index = 3, .in = 64, .out = 192, .size = 5, .padding = 2, .tap = true},
      {.kind = Kind::pool},
      {.kind = Kind::convolution, .index = 6, .in = 192, .out = 384, .size = 3, .padding = 1, .tap = true},
      {.kind = Kind::convolution, .index = 8, .in = 384, .out = 256, .size = 3, .padding = 1, .tap = true},
      {.kind = Kind::convolution, .index = 10, .in = 256, .out = 256, .size = 3, .padding = 1, .tap = true}};
  static const std::vector<LpipsStep> squeeze = {
      {.kind = Kind::convolution, .index = 0, .in = 3, .out = 64, .size = 3, .stride = 2, .tap = true},
      {.kind = Kind::pool},
      fire_step(3, 64, 16, 128, false),
      fire_step(4, 128, 16, 128, true),
      {.kind = Kind::pool},
      fire_step(6, 128, 32, 256, false),
      fire_step(7, 256, 32, 256, true),
      {.kind = Kind::pool},
      fire_step(9, 256, 48, 384, true),
      fire_step(10, 384, 48, 384, true),
      fire_step(11, 384, 64, 512, true),
      fire_step(12, 512, 64, 512, true)};
  return network == LpipsNetwork::alex ? alex : squeeze;
}

std::string layer_name(const LpipsStep& step) { return "features." + std::to_string(step.index); }

/// Reads tensors of exactly these names and shapes.
class LpipsFile {
 public:
  LpipsFile(const std::string& folder, const std::string& name)
      : path_((std::filesystem::path(folder) / name).string()),
        tensors_(io::read_safetensors(path_).tensors) {
    io::check_finite(tensors_, path_);
  }

  at::Tensor take(const std::string& name, const std::vector<int64_t>& shape) const {
    const auto found = tensors_.find(name);
    LACT_CHECK(found != tensors_.end(), "{}: tensor {} is missing", path_, name);
    LACT_CHECK(found->second.sizes() == shape && found->second.is_floating_point(),
               "{}: tensor {} has shape {}, expected {}", path_, name, found->second.sizes().vec(), shape);
    return found->second.to(at::kFloat);
  }

 private:
  std::string path_;
  std::map<std::string, at::Tensor> tensors_;
};

at::Tensor lpips_channels(std::initializer_list<double> values) {
  return at::tensor(std::vector<double>(values), at::kFloat).view({1, 3, 1, 1});
}

/// Unit length at every place.
at::Tensor lpips_units(const at::Tensor& features) {
  return features / (features.norm(2, {1}, /*keepdim=*/true) + 1e-10);
}

}  // namespace

Lpips::Lpips(LpipsNetwork network, const std::string& folder) : network_(network) {
  const bool alex = network == LpipsNetwork::alex;
  const LpipsFile features(folder,
                           alex ? "alexnet_features.safetensors" : "squeezenet1_1_features.safetensors");
  const LpipsFile heads(folder, fmt::format("lpips_lin_{}_v0.1.safetensors", options::word_of(network)));
  const auto convolution = [&](const std::string& layer, int64_t in, int64_t out, int64_t size) {
    weights_[layer + ".weight"] = features.take(layer + ".weight", {out, in, size, size});
    weights_[layer + ".bias"] = features.take(layer + ".bias", {out});
  };
  for (const auto& step : lpips_steps(network)) {
    const std::string layer = layer_name(step);
    if (step.kind == Kind::convolution) convolution(layer, step.in, step.out, step.size);
    if (step.kind == Kind::fire) {
      convolution(layer + ".squeeze", step.in, step.squeezed, 1);
      convolution(layer + ".expand1x1", step.squeezed, step.out / 2, 1);
      convolution(layer + ".expand3x3", step.squeezed, step.out / 2, 3);
    }
    if (step.tap)
      heads_.push_back(heads.take(fmt::format("lin{}.model.1.weight", heads_.size()), {1, step.out, 1, 1}));
  }
}

at::Tensor Lpips::convolve(const at::Tensor& x, const std::string& layer, int64_t stride,
                           int64_t padding) const {
  return at::relu(
      at::conv2d(x, weights_.at(layer + ".weight"), weights_.at(layer + ".bias"), stride, padding));
}

at::Tensor Lpips::fire(const at::Tensor& x, const std::string& layer) const {
  const at::Tensor squeezed = convolve(x, layer + ".squeeze", 1, 0);
  return at::cat(
      {convolve(squeezed, layer + ".expand1x1", 1, 0), convolve(squeezed, layer + ".expand3x3", 1, 1)}, 1);
}

std::vector<at::Tensor> Lpips::features(const at::Tensor& images) const {
  static const at::Tensor shift = lpips_channels({-.030, -.088, -.188}),
                          scale = lpips_channels({.458, .448, .450});
  at::Tensor x = (images.to(at::kFloat) * 2 - 1 - shift) / scale;
  std::vector<at::Tensor> taps;
  for (const auto& step : lpips_steps(network_)) {
    switch (step.kind) {
      case Kind::convolution:
        x = convolve(x, layer_name(step), step.stride, step.padding);
        break;
      case Kind::fire:
        x = fire(x, layer_name(step));
        break;
      case Kind::pool:
        x = at::max_pool2d(x, 3, 2, 0, 1, /*ceil_mode=*/network_ == LpipsNetwork::squeeze);
        break;
    }
    if (step.tap) taps.push_back(x);
  }
  return taps;
}

at::Tensor Lpips::by_layer(const at::Tensor& a, const at::Tensor& b) const {
  LACT_CHECK(a.sizes() == b.sizes() && a.dim() == 4 && a.size(1) == 3 && a.size(2) >= kSmallestSide &&
                 a.size(3) >= kSmallestSide,
             "[lpips] pictures of shapes {} and {}, expected twice [N, 3, H, W] with at least {} pixels on "
             "each side",
             a.sizes().vec(), b.sizes().vec(), kSmallestSide);
  const auto first = features(a), second = features(b);
  std::vector<at::Tensor> shares;
  for (size_t i = 0; i < first.size(); ++i) {
    const at::Tensor apart = (lpips_units(first[i]) - lpips_units(second[i])).square();
    shares.push_back((apart * heads_[i]).sum(1).mean({1, 2}));
  }
  return at::stack(shares, 1);
}

at::Tensor Lpips::operator()(const at::Tensor& a, const at::Tensor& b) const { return by_layer(a, b).sum(1); }

}  // namespace lact::models
