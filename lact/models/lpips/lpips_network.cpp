#include "lact/models/lpips/lpips_network.h"

namespace lact::models {

namespace {

LpipsStep convolution_step(int64_t index, int64_t in, int64_t out, int64_t size, bool tap) {
  LpipsStep step{LpipsStep::Kind::convolution, index, in, out, size};
  step.padding = size / 2;
  step.tap = tap;
  return step;
}

LpipsStep fire_step(int64_t index, int64_t in, int64_t squeezed, int64_t out, bool tap) {
  LpipsStep step{LpipsStep::Kind::fire, index, in, out};
  step.squeezed = squeezed;
  step.tap = tap;
  return step;
}

LpipsStep pool_step(int64_t size, bool ceil = false) {
  LpipsStep step{LpipsStep::Kind::pool};
  step.size = size;
  step.stride = 2;
  step.ceil = ceil;
  return step;
}

std::vector<LpipsStep> alex_steps() {
  LpipsStep first = convolution_step(0, 3, 64, 11, true);
  first.stride = 4;
  first.padding = 2;
  return {first,
          pool_step(3),
          convolution_step(3, 64, 192, 5, true),
          pool_step(3),
          convolution_step(6, 192, 384, 3, true),
          convolution_step(8, 384, 256, 3, true),
          convolution_step(10, 256, 256, 3, true)};
}

std::vector<LpipsStep> squeeze_steps() {
  LpipsStep first = convolution_step(0, 3, 64, 3, true);
  first.stride = 2;
  first.padding = 0;
  const LpipsStep pool = pool_step(3, /*ceil=*/true);
  return {first,
          pool,
          fire_step(3, 64, 16, 128, false),
          fire_step(4, 128, 16, 128, true),
          pool,
          fire_step(6, 128, 32, 256, false),
          fire_step(7, 256, 32, 256, true),
          pool,
          fire_step(9, 256, 48, 384, true),
          fire_step(10, 384, 48, 384, true),
          fire_step(11, 384, 64, 512, true),
          fire_step(12, 512, 64, 512, true)};
}

/// VGG16 up to its last convolution: blocks of 2, 2, 3, 3 and 3, compared after each block, a pooling between
/// them. A ReLU and a pooling have an index of their own.
std::vector<LpipsStep> vgg_steps() {
  std::vector<LpipsStep> steps;
  int64_t index = 0, in = 3;
  for (const auto& [layers, out] : {std::pair(2, 64), {2, 128}, {3, 256}, {3, 512}, {3, 512}}) {
    if (index > 0) {
      steps.push_back(pool_step(2));
      ++index;
    }
    for (int layer = 1; layer <= layers; ++layer, index += 2, in = out)
      steps.push_back(convolution_step(index, in, out, 3, layer == layers));
  }
  return steps;
}

}  // namespace

const std::vector<LpipsStep>& lpips_steps(LpipsNetwork network) {
  static const std::vector<LpipsStep> squeeze = squeeze_steps(), alex = alex_steps(), vgg = vgg_steps();
  return network == LpipsNetwork::squeeze ? squeeze : network == LpipsNetwork::alex ? alex : vgg;
}

std::string_view torchvision_name(LpipsNetwork network) {
  return network == LpipsNetwork::squeeze ? "squeezenet1_1"
         : network == LpipsNetwork::alex  ? "alexnet"
                                          : "vgg16";
}

}  // namespace lact::models
