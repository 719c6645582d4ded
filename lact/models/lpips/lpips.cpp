#include "lact/models/lpips/lpips.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/models/lpips/lpips_files.h"

namespace lact::models {

namespace {

using Kind = LpipsStep::Kind;

at::Tensor lpips_channels(std::initializer_list<double> values) {
  return at::tensor(std::vector<double>(values), at::kFloat).view({1, 3, 1, 1});
}

/// Unit length at every place.
at::Tensor lpips_units(const at::Tensor& features) {
  return features / (features.norm(2, {1}, /*keepdim=*/true) + 1e-10);
}

}  // namespace

Lpips::Lpips(LpipsNetwork network, const std::string& folder) : network_(network) {
  const LpipsFile features(find_lpips_features(network, folder), "features.");
  const LpipsFile heads(find_lpips_heads(network, folder), "lin");
  const auto convolution = [&](const std::string& layer, int64_t in, int64_t out, int64_t size) {
    weights_[layer + ".weight"] = features.take(layer + ".weight", {out, in, size, size});
    weights_[layer + ".bias"] = features.take(layer + ".bias", {out});
  };
  for (const auto& step : lpips_steps(network)) {
    const std::string layer = step.layer();
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
        x = convolve(x, step.layer(), step.stride, step.padding);
        break;
      case Kind::fire:
        x = fire(x, step.layer());
        break;
      case Kind::pool:
        x = at::max_pool2d(x, step.size, step.stride, 0, 1, step.ceil);
        break;
    }
    if (step.tap) taps.push_back(x);
  }
  return taps;
}

at::Tensor Lpips::by_layer(const at::Tensor& a, const at::Tensor& b) const {
  LACT_CHECK(a.sizes() == b.sizes() && a.dim() == 4 && a.size(1) == 3 && a.size(2) >= kLpipsSmallestSide &&
                 a.size(3) >= kLpipsSmallestSide,
             "[lpips] pictures of shapes {} and {}, expected twice [N, 3, H, W] with at least {} pixels on "
             "each side",
             a.sizes().vec(), b.sizes().vec(), kLpipsSmallestSide);
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
