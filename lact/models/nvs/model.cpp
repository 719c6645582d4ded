#include "lact/models/nvs/model.h"

#include <ATen/ATen.h>

#include <cmath>

#include "lact/base/error.h"
#include "lact/base/out_of_memory.h"
#include "lact/base/profile.h"
#include "lact/mixers/sharding.h"
#include "lact/models/nvs/gaussian_scene.h"
#include "lact/nn/init.h"
#include "lact/nn/patches.h"
#include "lact/ops/dispatch/dtypes.h"
#include "lact/ops/images/rays.h"

namespace lact::models {

namespace {

/// Rays and colours of input views, the colours in [-1, 1].
at::Tensor posed(const at::Tensor& rays, const at::Tensor& images) {
  return at::cat({rays, images * 2 - 1}, -3);
}

void check_views(const at::Tensor& images, const at::Tensor& input_rays, const at::Tensor& target_rays) {
  LACT_CHECK(images.dim() == 5 && images.size(2) == kColorChannels,
             "[nvs] the input images have shape {}, expected [B, V, 3, H, W]", images.sizes().vec());
  const auto check_rays = [&](const char* name, const at::Tensor& rays, int64_t views) {
    const std::vector<int64_t> expected = {images.size(0), views, kRayChannels, images.size(3),
                                           images.size(4)};
    LACT_CHECK(rays.sizes() == expected, "[nvs] the {} rays have shape {}, expected {}", name,
               rays.sizes().vec(), expected);
  };
  check_rays("input", input_rays, images.size(1));
  check_rays("target", target_rays, target_rays.dim() == 5 ? target_rays.size(1) : 1);
}

/// The views [B, V, ...] that this rank holds; `all` are the tokens of them all.
at::Tensor own_views(const at::Tensor& views, const Sharding* sharding, Range all, int64_t tokens) {
  if (sharding == nullptr) return views;
  std::vector<at::Tensor> own = {views.narrow(1, 0, 0)};
  for (const auto& range : intersect(sharding->own(), {all})) {
    own.push_back(views.narrow(1, (range.begin - all.begin) / tokens, range.size() / tokens));
  }
  return at::cat(own, 1);
}

}  // namespace

NvsModel::NvsModel(const NvsConfig& config) : ViewModel(config) {
  const int64_t width = config.model_dim;
  input_ = register_module("input", std::make_shared<nn::Linear>(config.input_channels(), width, false));
  input_norm_ = register_module("input_norm", std::make_shared<nn::Norm>(width, config.norm));
  if (config.mixer == MixerKind::perceiver) {
    registers_ =
        register_module("registers", std::make_shared<perceiver::Registers>(width, config.perceiver));
  }
  for (int64_t i = 0; i < config.num_layers; ++i) {
    blocks_.push_back(register_module(
        fmt::format("block{}", i), nn::given_to_lender(std::make_shared<NvsBlock>(config, i, registers_))));
  }
  decoder_norm_ = register_module("decoder_norm", std::make_shared<nn::Norm>(width, config.norm));
  decoder_ = register_module("decoder", std::make_shared<nn::Linear>(width, config.output_channels(), false));
  // The sum of all residual branches begins as large as one of them.
  const double std = nn::kLinearStd / std::sqrt(3.0 * double(config.num_layers));
  for (const auto& item : named_parameters()) {
    const std::string& name = item.key();
    if (name.ends_with(".output.weight") || name.ends_with("feed_forward.down.weight")) {
      nn::init_normal(item.value(), std);
    }
  }
}

at::Tensor NvsModel::embed(const at::Tensor& views) const {
  const profile::Scope part("embedding");
  at::Tensor pixels = views;
  if (views.size(2) == kRayChannels) {
    auto blank = views.sizes().vec();
    blank[2] = kColorChannels;
    pixels = at::cat({views, at::zeros(blank, views.options())}, 2);
  }
  at::Tensor patches = nn::patchify(pixels, config_.patch_size);
  if (const RayPoints& points = config_.ray_points; points.count > 0) {
    const at::Tensor rays = patches.unflatten(-1, {-1, kRayChannels + kColorChannels}).mean(-2);
    patches = at::cat({patches, ops::ray_point_waves(rays.narrow(-1, 0, kRayChannels), points.count,
                                                     points.octaves, points.reach)},
                      -1);
  }
  return input_norm_->forward(input_->forward(patches.to(input_->weight.options()))).to(compute_type_);
}

at::Tensor NvsModel::decode(const at::Tensor& x) const {
  const profile::Scope part("decoder");
  return ops::at_least_float(decoder_->forward(decoder_norm_->forward(x)));
}

at::Tensor NvsModel::say(const at::Tensor& images, const at::Tensor& input_rays,
                         const at::Tensor& looking_rays) {
  check_views(images, input_rays, looking_rays);
  const int64_t inputs = images.size(1), looking = looking_rays.size(1);
  const int64_t tokens = nn::patches_of(images.size(3), images.size(4), config_.patch_size);
  const Range input_tokens = {0, inputs * tokens},
              looking_tokens = {inputs * tokens, (inputs + looking) * tokens};
  SequenceLayout layout = share_out(views_layout(inputs, looking, tokens), world_);
  const auto sharding = layout.sharding;
  const at::Tensor written = own_views(posed(input_rays, images), sharding.get(), input_tokens, tokens);
  at::Tensor x = embed(written);
  int64_t own = x.size(1);  // tokens at the end that are decoded
  if (looking > 0) {
    const at::Tensor read = own_views(looking_rays, sharding.get(), looking_tokens, tokens);
    x = at::cat({x, embed(read)}, 1);
    own = read.size(1) * tokens;
  }
  if (registers_) x = at::cat({registers_->forward(x.size(0)).to(x.scalar_type()), x}, 1);
  const auto decoded_ones = [&] { return x.narrow(1, x.size(1) - own, own); };
  for (int64_t i = 0; i < config_.num_layers; ++i) {
    if (i == config_.writing_layers()) {  // nothing of the inputs goes further
      x = at::cat({x.narrow(1, 0, config_.perceiver.registers), decoded_ones()}, 1);
      layout = share_out(views_layout(0, looking, tokens), world_);
    }
    const auto run = [block = blocks_[size_t(i)], layout](const at::Tensor& input) {
      return block->pass(input, layout);
    };
    x = recompute_ == nn::Recompute::blocks ? nn::recompute(run, x, {lender_, blocks_[size_t(i)]}) : run(x);
  }
  const at::Tensor said = decode(decoded_ones());
  return sharding ? sharding->put_together(said, looking > 0 ? looking_tokens : input_tokens) : said;
}

at::Tensor NvsModel::forward(const at::Tensor& images, const at::Tensor& input_rays,
                             const at::Tensor& target_rays) {
  LACT_CHECK(!config_.has_gaussians(), "[nvs] the model's head is gaussians, expected image");
  LACT_CHECK(target_rays.dim() != 5 || target_rays.size(1) > 0,
             "[nvs] there are no target views, expected at least 1");
  const at::Tensor colours = say(images, input_rays, target_rays).sigmoid();
  return nn::unpatchify(colours, target_rays.size(1), images.size(3), images.size(4), config_.patch_size)
      .to(images.device());
}

Prediction NvsModel::predict(const SceneViews& views) {
  const int64_t inputs = views.inputs();
  const auto [height, width] = views.size();
  const at::Tensor rays = ops::plucker_rays(views.intrinsics, views.camera_to_world, height, width);
  const at::Tensor input_rays = rays.narrow(1, 0, inputs);
  if (!config_.has_gaussians())
    return {forward(views.images, input_rays, rays.narrow(1, inputs, views.targets())), {}};
  const bool of_inputs = head_reads_inputs();
  const at::Tensor from = of_inputs ? at::arange(inputs) : virtual_views(inputs);
  const auto chosen = [&](const at::Tensor& all) { return all.index_select(1, from.to(all.device())); };
  const at::Tensor said = say(views.images, input_rays, of_inputs ? rays.narrow(1, 0, 0) : chosen(rays));
  return show_gaussians(
      gaussians_of(said, chosen(views.intrinsics), chosen(views.camera_to_world), {height, width}), views,
      config_.gaussians);
}

ops::Gaussians NvsModel::gaussians_of(const at::Tensor& said, const at::Tensor& intrinsics,
                                      const at::Tensor& camera_to_world, const io::ImageSize& size) const {
  const profile::Scope part("gaussians");
  return ops::gaussian_head(said, intrinsics, camera_to_world, size.height, size.width, config_.patch_size,
                            config_.gaussians);
}

at::Tensor NvsModel::virtual_views(int64_t views) const {
  const int64_t count = std::min(views, config_.gaussians.virtual_views);
  return (at::arange(count) * views).floor_divide(count);
}

at::Tensor NvsModel::embed_inputs(const InputViews& views, int64_t first, const io::ImageSize& size) const {
  for (size_t i = 0; i < views.images.size(); ++i) {
    check_input_image(views.images[i], first + int64_t(i), &size);
  }
  const at::Tensor rays = ops::plucker_rays(views.intrinsics, views.camera_to_world, size.height, size.width);
  return embed(posed(rays, at::stack(views.images).to(rays.scalar_type())).unsqueeze(0));
}

at::Tensor NvsModel::look(const NvsState& state, const at::Tensor& rays) const {
  LACT_ASSERT(state.memories.size() == (registers_ ? 1 : blocks_.size()));
  at::Tensor x = embed(rays.unsqueeze(0).unsqueeze(0));
  const SequenceLayout layout = views_layout(0, 1, x.size(1));
  for (size_t i = 0; i < blocks_.size(); ++i) x = blocks_[i]->render(x, layout, state.of_block(i));
  return x;
}

at::Tensor NvsModel::render(const NvsState& state, const at::Tensor& intrinsics,
                            const at::Tensor& camera_to_world, int64_t height, int64_t width) {
  at::NoGradGuard no_grad;
  LACT_CHECK(intrinsics.dim() == 1, "[nvs] the intrinsics of a view have shape {}, expected [4]",
             intrinsics.sizes().vec());
  return making(fmt::format("a view of {} x {} pixels", width, height), [&] {
    if (state.gaussians) return draw_gaussians(*state.gaussians, intrinsics, camera_to_world, height, width);
    nn::patches_of(height, width, config_.patch_size);  // throws a sentence
    const at::Tensor x = look(state, ops::plucker_rays(intrinsics, camera_to_world, height, width));
    return nn::unpatchify(decode(x).sigmoid(), 1, height, width, config_.patch_size)[0][0].to(
        intrinsics.device());
  });
}

std::unique_ptr<NvsState> NvsModel::initial_memories(int64_t batch) {
  auto state = std::make_unique<NvsState>();
  state->shared = registers_ != nullptr;
  for (const auto& block : blocks_) {
    if (state->memories.empty() || !state->shared) state->memories.push_back(block->initial_memory(batch));
  }
  return state;
}

std::unique_ptr<NvsState> NvsModel::initial_state(int64_t batch) {
  return config_.has_gaussians() ? empty_gaussian_scene(config_.gaussians) : initial_memories(batch);
}

}  // namespace lact::models
