#include "lact/models/video/model.h"

#include <ATen/ATen.h>

#include <cmath>

#include "lact/base/error.h"
#include "lact/base/profile.h"
#include "lact/mixers/sharding.h"
#include "lact/models/common/weights_fit.h"
#include "lact/models/video/flow.h"
#include "lact/nn/init.h"
#include "lact/ops/dispatch/dtypes.h"

namespace lact::models {

namespace {

/// Xavier's uniform distribution for a stack of `layers` matrices.
void init_xavier(at::Tensor weight, int64_t layers) {
  const double fans = double(weight.size(0)) / double(layers) + double(weight.size(1));
  const double bound = std::sqrt(6 / fans);
  nn::init_uniform(weight, bound);
}

void check_latents(const at::Tensor& latents, int64_t channels) {
  LACT_CHECK(
      latents.dim() == 5 && latents.is_floating_point(),
      "[video] the latents have shape {} and type {}, expected [B, C, F, H, W] of floating point numbers",
      latents.sizes().vec(), toString(latents.scalar_type()));
  LACT_CHECK(latents.size(1) == channels, "[video] the latents have {} channels, expected {}",
             latents.size(1), channels);
}

void check_batch(const char* what, const at::Tensor& tensor, int64_t batch) {
  LACT_CHECK(tensor.dim() > 0 && tensor.size(0) == batch, "[video] {} has shape {}, expected a batch of {}",
             what, tensor.sizes().vec(), batch);
}

}  // namespace

VideoModel::VideoModel(const VideoConfig& config) : config_(config) {
  config.check();
  check_parameters(cost(config));
  patch_ = {config.patch[0], config.patch[1], config.patch[2]};
  const int64_t width = config.model_dim;
  const auto linear = [&](const char* name, int64_t in, int64_t out) {
    return register_module(name, std::make_shared<nn::Linear>(in, out, true));
  };
  patch_embedding_ = linear("patch_embedding", config.in_channels * patch_.size(), width);
  text_embedding_ = register_module(
      "text_embedding", std::make_shared<TextEmbedding>(config.text_dim, config.text_length, width));
  time_embedding_ =
      register_module("time_embedding", std::make_shared<TimeEmbedding>(config.frequency_dim, width));
  for (int64_t i = 0; i < config.num_layers; ++i)
    blocks_.push_back(register_module(fmt::format("block{}", i),
                                      nn::given_to_lender(std::make_shared<VideoBlock>(config, i))));
  head_modulation_ =
      register_parameter("head_modulation", at::randn({kHeadModulations, width}) / std::sqrt(double(width)));
  head_ = linear("head", width, config.out_channels * patch_.size());
  initialise();
}

void VideoModel::initialise() {
  at::NoGradGuard no_grad;
  for (const auto& item : named_parameters()) {
    const std::string& name = item.key();
    const bool in_block = name.starts_with("block") && name.find(".memory.") == std::string::npos;
    const bool drawn =
        in_block || name.starts_with("patch_embedding.") || name.starts_with("time_embedding.projection.");
    if (drawn && item.value().dim() == 2 && name.ends_with(".weight"))
      init_xavier(item.value(), name.ends_with("qkv.weight") ? 3 : 1);
  }
  nn::init_zero(*head_);
}

void VideoModel::set_world(const parallel::World& world) {
  lact::check_heads(*this, world);
  world_ = world;
}

void VideoModel::set_recompute(nn::Recompute what) {
  recompute_ = lender_ ? nn::Recompute::blocks : what;
  nn::set_recompute_below(*this, recompute_);
}

ChunkGrid VideoModel::grid_of(const at::Tensor& latents) const {
  return {config_.chunk_frames / patch_.frames, latents.size(3) / patch_.rows,
          latents.size(4) / patch_.columns};
}

VideoModel::Context VideoModel::context(const at::Tensor& timesteps, const at::Tensor& text) const {
  const at::Tensor texts = text.dim() == 4 ? text.flatten(0, 1) : text;
  return {time_embedding_->forward(timesteps), text_embedding_->forward(texts).to(compute_type_)};
}

at::Tensor VideoModel::embed(const at::Tensor& latents, const Sharding* sharding) const {
  const profile::Scope part("embedding");
  const at::Tensor patches = nn::patchify(latents, patch_).to(patch_embedding_->weight.options());
  return patch_embedding_->forward(sharding != nullptr ? sharding->take(patches, 1) : patches);
}

at::Tensor VideoModel::decode(const at::Tensor& x, const at::Tensor& time) const {
  const profile::Scope part("decoder");
  const at::Tensor modulation = time.unsqueeze(2) + head_modulation_;
  const at::Tensor normed = modulated_norm(x, modulation, 0, 1, config_.norm_epsilon);
  return head_->forward(normed);
}

at::Tensor VideoModel::velocity(const at::Tensor& patches, const at::Tensor& latents,
                                const at::Tensor& timesteps) const {
  const at::Tensor answer =
      nn::unpatchify(patches, latents.size(3), latents.size(4), patch_).to(latents.device());
  if (config_.prediction == FlowPrediction::velocity) return answer;
  const at::Tensor sigma = (timesteps / kTrainingTimesteps).repeat_interleave(config_.chunk_frames, 1);
  return velocity_towards(answer, latents.to(answer.scalar_type()),
                          sigma.to(answer.options()).unsqueeze(1).unsqueeze(-1).unsqueeze(-1));
}

at::Tensor VideoModel::forward(const at::Tensor& latents, const at::Tensor& timesteps, const at::Tensor& text,
                               int64_t noise_repeats) {
  check_latents(latents, config_.in_channels);
  const int64_t batch = latents.size(0), frames = latents.size(2), chunk = config_.chunk_frames;
  LACT_CHECK(noise_repeats > 0, "[video] {} noisy copies of a chunk, expected at least 1", noise_repeats);
  const int64_t parts = frames / chunk, period = noise_repeats + 1;
  LACT_CHECK(
      frames > 0 && frames % chunk == 0 && (parts + 1) % period == 0,
      "[video] the sequence has {} latent frames, expected chunks of {}: {} noisy and a clean one again "
      "and again, and {} noisy ones at the end",
      frames, chunk, noise_repeats, noise_repeats);
  LACT_CHECK(timesteps.sizes() == at::IntArrayRef({batch, parts}),
             "[video] the time steps have shape {}, expected [{}, {}], one for each chunk of the sequence",
             timesteps.sizes().vec(), batch, parts);
  check_batch("the text", text, batch);
  LACT_CHECK(text.dim() != 4 || text.size(1) == parts,
             "[video] the text has shape {}, expected one for each of the {} chunks of the sequence",
             text.sizes().vec(), parts);
  const SequenceLayout layout = share_out(
      interleaved_layout((parts + 1) / period, grid_of(latents), noise_repeats, config_.visible_clean),
      world_);
  at::Tensor x = embed(latents, layout.sharding.get());
  const Context given = context(timesteps, text);
  for (const auto& block : blocks_) {
    const auto run = [block, layout](const nn::ThreeInputs& in) {
      return block->forward(in[0], in[1], in[2], layout);
    };
    const nn::ThreeInputs inputs = {x, given.time.modulation, given.text};
    x = recompute_ == nn::Recompute::blocks ? nn::recompute(run, inputs, {lender_, block}) : run(inputs);
  }
  const at::Tensor answer = decode(x, given.time.embedding);
  return velocity(layout.sharding ? layout.sharding->put_together(answer) : answer, latents, timesteps);
}

std::unique_ptr<VideoState> VideoModel::initial_state(int64_t batch) {
  at::NoGradGuard no_grad;
  LACT_CHECK(batch > 0, "[video] a batch of {} videos, expected at least 1", batch);
  auto state = std::make_unique<VideoState>();
  state->batch = batch;
  for (const auto& block : blocks_)
    on_loan(block, [&] { state->layers.push_back(block->initial_state(batch)); });
  return state;
}

void VideoModel::check_chunk(const VideoState& state, const at::Tensor& chunk) const {
  LACT_ASSERT(state.layers.size() == blocks_.size());
  check_latents(chunk, config_.in_channels);
  check_batch("the chunk", chunk, state.batch);
  LACT_CHECK(chunk.size(2) == config_.chunk_frames, "[video] the chunk has {} latent frames, expected {}",
             chunk.size(2), config_.chunk_frames);
  const ChunkGrid grid = grid_of(chunk);
  LACT_CHECK(state.chunks == 0 || (state.rows == grid.rows && state.columns == grid.columns),
             "[video] the chunk has {} x {} patches but the chunks before it had {} x {}", grid.rows,
             grid.columns, state.rows, state.columns);
}

at::Tensor VideoModel::denoise(const VideoState& state, const at::Tensor& chunk, const at::Tensor& timestep,
                               const at::Tensor& text) {
  at::NoGradGuard no_grad;
  check_chunk(state, chunk);
  LACT_CHECK(timestep.dim() == 1, "[video] the time step has shape {}, expected [{}]", timestep.sizes().vec(),
             state.batch);
  check_batch("the time step", timestep, state.batch);
  check_batch("the text", text, state.batch);
  at::Tensor x = embed(chunk);
  const SequenceLayout layout = noisy_piece(state.chunks, grid_of(chunk), config_.visible_clean);
  const Context given = context(timestep.unsqueeze(1), text);
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const auto layer = state.layers[i]->clone();
    on_loan(blocks_[i],
            [&] { x = blocks_[i]->advance(x, given.time.modulation, given.text, layout, *layer); });
  }
  return velocity(decode(x, given.time.embedding), chunk, timestep.unsqueeze(1));
}

void VideoModel::write(VideoState& state, const at::Tensor& clean_chunk, const at::Tensor& text) {
  at::NoGradGuard no_grad;
  check_chunk(state, clean_chunk);
  check_batch("the text", text, state.batch);
  at::Tensor x = embed(clean_chunk);
  const ChunkGrid grid = grid_of(clean_chunk);
  const SequenceLayout layout = clean_piece(state.chunks, grid, config_.visible_clean);
  const Context given = context(at::zeros({state.batch, 1}, clean_chunk.options()), text);
  for (size_t i = 0; i < blocks_.size(); ++i)
    on_loan(blocks_[i],
            [&] { x = blocks_[i]->advance(x, given.time.modulation, given.text, layout, *state.layers[i]); });
  ++state.chunks;
  state.rows = grid.rows;
  state.columns = grid.columns;
}

}  // namespace lact::models
