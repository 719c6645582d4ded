#include "lact/models/nvs/long_lrm.h"

#include <ATen/ATen.h>

#include <cmath>

#include "lact/base/error.h"
#include "lact/base/out_of_memory.h"
#include "lact/base/profile.h"
#include "lact/models/nvs/gaussian_scene.h"
#include "lact/models/nvs/long_lrm_cost.h"
#include "lact/nn/init.h"
#include "lact/nn/patches.h"
#include "lact/ops/dispatch/dtypes.h"
#include "lact/ops/images/rays.h"

namespace lact::models {

namespace {

constexpr double kMambaNormEpsilon = 1e-5;

/// Sides have to divide into what a token stands for at the end.
void check_sides(const NvsConfig& config, int64_t height, int64_t width) {
  nn::patches_of(height, width, config.decoded_patch());
}

}  // namespace

LongLrm::LongLrm(const NvsConfig& config) : ViewModel(config) {
  LACT_ASSERT(config.is_long_lrm());
  const int64_t width = config.model_dim, last = config.decoded_dim();
  const LongLrmConfig& own = config.long_lrm;
  if (own.global_tokens > 0) {
    global_tokens_ = register_parameter("global_tokens", at::empty({own.global_tokens, width}));
    nn::init_normal(global_tokens_, nn::kLinearStd);
  }
  input_ = register_module("input", std::make_shared<nn::Linear>(config.input_channels(), width, false));
  input_norm_ = register_module("input_norm", std::make_shared<nn::Norm>(width, config.norm));
  int64_t branches = 0;
  for (int64_t i = 0; i < config.num_layers; ++i) {
    if (config.merges_tokens() && i == own.merge_at)
      merging_ = register_module("merging", std::make_shared<TokenMerging>(width, last, own.global_tokens));
    const LongLrmLayer layer = long_lrm_layer(config, i);
    const std::string name = fmt::format("block{}", i);
    if (config.mixer.kind_of(i) == MixerKind::full) {
      const std::vector<std::shared_ptr<Mixer>> attention = {make_full_layer(layer.width, layer.attention)};
      layers_.emplace_back(
          register_module(name, nn::given_to_lender(std::make_shared<Block>(layer.width, layer.norm,
                                                                            attention, layer.feed_forward))));
      branches += 2;
    } else {
      const auto block = nn::given_to_lender(
          std::make_shared<recurrent::ResidualMamba2Block>(layer.width, own.mamba2, kMambaNormEpsilon));
      layers_.emplace_back(std::shared_ptr<Mixer>(register_module(name, block)));
      ++branches;
    }
  }
  decoder_norm_ = register_module("decoder_norm", std::make_shared<nn::Norm>(last, config.norm));
  decoder_ = register_module("decoder", std::make_shared<nn::Linear>(last, config.output_channels(), false));
  // The sum of all residual branches begins as large as one of them.
  const double std = nn::kLinearStd / std::sqrt(double(branches));
  for (const auto& item : named_parameters()) {
    const std::string& name = item.key();
    if (name.ends_with(".output.weight") || name.ends_with("feed_forward.down.weight"))
      nn::init_normal(item.value(), std);
  }
}

void LongLrm::set_world(const parallel::World& world) {
  LACT_CHECK(world.mesh.shards() == 1,
             "[nvs] Long-LRM does not share a scene between processes, but the mesh is {}",
             parallel::to_string(world.mesh));
  ViewModel::set_world(world);
}

at::Tensor LongLrm::embed(const at::Tensor& images, const at::Tensor& rays) const {
  const profile::Scope part("embedding");
  const at::Tensor direction = rays.narrow(2, 3, 3), moment = rays.narrow(2, 6, 3);
  const at::Tensor pixels = at::cat({images.to(rays.options()) * 2 - 1, moment, direction}, 2);
  at::Tensor x = input_->forward(nn::patchify(pixels, config_.patch_size).to(input_->weight.options()));
  if (global_tokens_.defined()) x = at::cat({global_tokens_.unsqueeze(0).expand({x.size(0), -1, -1}), x}, 1);
  return input_norm_->forward(x).to(compute_type_);
}

at::Tensor LongLrm::run_layer(size_t index, const at::Tensor& x, const io::ImageSize& grid) {
  const bool merges = merging_ && int64_t(index) == config_.long_lrm.merge_at;
  const auto run = [this, merges, grid, layer = layers_[index]](const at::Tensor& input) {
    const at::Tensor tokens = merges ? merging_->forward(input, grid) : input;
    const SequenceLayout all = views_layout(1, 0, tokens.size(1));  // one set, whatever view a token is of
    return std::visit([&](const auto& any) { return any->forward(tokens, all); }, layer);
  };
  if (recompute_ != nn::Recompute::blocks) return run(x);
  const auto module = std::visit(
      [](const auto& any) { return std::static_pointer_cast<torch::nn::Module>(any); }, layers_[index]);
  return nn::recompute(run, x, {lender_, module});
}

ops::Gaussians LongLrm::gaussians(const at::Tensor& images, const at::Tensor& intrinsics,
                                  const at::Tensor& camera_to_world,
                                  const std::function<void(int64_t, int64_t)>& on_layer_done) {
  LACT_CHECK(images.dim() == 5 && images.size(2) == kColorChannels,
             "[nvs] the input images have shape {}, expected [B, V, 3, H, W]", images.sizes().vec());
  const int64_t height = images.size(3), width = images.size(4), patch = config_.patch_size;
  check_sides(config_, height, width);
  const at::Tensor rays = ops::plucker_rays(intrinsics, camera_to_world, height, width);
  at::Tensor x = embed(images, rays);
  for (size_t i = 0; i < layers_.size(); ++i) {
    x = run_layer(i, x, {height / patch, width / patch});
    if (on_layer_done) on_layer_done(int64_t(i) + 1, config_.num_layers);
  }
  const profile::Scope part("gaussians");
  const at::Tensor said =
      decoder_->forward(decoder_norm_->forward(x.slice(1, config_.long_lrm.global_tokens)));
  return ops::gaussian_head(ops::at_least_float(said), intrinsics, camera_to_world, height, width,
                            config_.decoded_patch(), config_.gaussians);
}

Prediction LongLrm::predict(const SceneViews& views) {
  const int64_t inputs = views.inputs();
  return show_gaussians(gaussians(views.images, views.intrinsics.narrow(1, 0, inputs),
                                  views.camera_to_world.narrow(1, 0, inputs)),
                        views, config_.gaussians);
}

std::unique_ptr<NvsState> LongLrm::reconstruct(const std::vector<io::ImageSize>& sizes, const LoadViews& load,
                                               const ReconstructOptions& options) {
  at::NoGradGuard no_grad;
  LACT_CHECK(!sizes.empty(), "[nvs] there are no input views, expected at least 1");
  LACT_CHECK(world_.mesh.ranks() == 1, "[nvs] Long-LRM reads a scene on one process");
  const auto count = int64_t(sizes.size());
  for (int64_t i = 1; i < count; ++i)
    LACT_CHECK(sizes[size_t(i)] == sizes[0],
               "[nvs] image {} is {} pixels and image 0 is {}, but Long-LRM reads images of one size", i,
               sizes[size_t(i)].text(), sizes[0].text());
  check_sides(config_, sizes[0].height, sizes[0].width);
  const InputViews views = load(0, count);
  LACT_CHECK(int64_t(views.images.size()) == count, "[nvs] {} images were loaded, expected {}",
             views.images.size(), count);
  for (int64_t i = 0; i < count; ++i) check_input_image(views.images[size_t(i)], i, &sizes[0]);
  const auto made = making(fmt::format("a scene of {} views", count), [&] {
    return gaussians(at::stack(views.images).unsqueeze(0), views.intrinsics.unsqueeze(0),
                     views.camera_to_world.unsqueeze(0), options.on_piece);
  });
  return gaussian_scene({made}, config_.gaussians, {});
}

void LongLrm::read_more(NvsState& /*state*/, const std::vector<io::ImageSize>& /*sizes*/,
                        const LoadViews& /*load*/, const ReconstructOptions& /*options*/) {
  fail("[nvs] the scene is Gaussians: more views need a reading of all of them");
}

at::Tensor LongLrm::render(const NvsState& state, const at::Tensor& intrinsics,
                           const at::Tensor& camera_to_world, int64_t height, int64_t width) {
  LACT_ASSERT(state.gaussians.has_value());
  return draw_gaussians(*state.gaussians, intrinsics, camera_to_world, height, width);
}

std::unique_ptr<NvsState> LongLrm::initial_state(int64_t /*batch*/) {
  return empty_gaussian_scene(config_.gaussians);
}

}  // namespace lact::models
