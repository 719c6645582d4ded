// Autoregressive video diffusion (paper section 4.3): the velocity of noisy chunks of latent frames, each of
// which knows the clean chunks before it.
#pragma once

#include <torch/nn/module.h>

#include <vector>

#include "lact/models/video/block.h"
#include "lact/models/video/embeddings.h"
#include "lact/models/video/state.h"
#include "lact/nn/patches.h"
#include "lact/parallel/world.h"

namespace lact::models {

/// Latents are [B, channels, frames, rows, columns], of any size that divides into patches. Time steps are in
/// [0, 1000], 0 is clean. A text is [B, tokens <= text_length, text_dim]; shorter ones are padded with zeros.
class VideoModel : public torch::nn::Module {
 public:
  /// Freshly initialised, as Wan, from LibTorch's random generator; the output is zero.
  explicit VideoModel(const VideoConfig& config);

  const VideoConfig& config() const { return config_; }

  /// float32, or bfloat16 for matrix products and activations inside of the blocks. Parameters, fast weights,
  /// norms, time embeddings and the sum that runs through the blocks stay as they are.
  void set_compute_type(at::ScalarType type) { compute_type_ = type; }

  /// What the backward pass computes again instead of finding it kept.
  void set_recompute(nn::Recompute what);

  /// Ranks that share the tokens of every chunk of `forward`; all get the whole answer.
  void set_world(const parallel::World& world);

  /// Teacher forcing: latents in the order of interleaved_layout (noisy × repeats, clean, noisy × repeats,
  /// clean, ..., noisy × repeats), timesteps [B, parts] one per chunk-sized part in that order (0 for clean)
  /// -> velocity of every part, float32 or wider. A text of [B, parts, tokens, text_dim] tells each part
  /// another.
  at::Tensor forward(const at::Tensor& latents, const at::Tensor& timesteps, const at::Tensor& text,
                     int64_t noise_repeats);

  /// Sampling, without gradients. Nothing was written into a fresh state.
  std::unique_ptr<VideoState> initial_state(int64_t batch = 1);

  /// Velocity of one noisy chunk of chunk_frames frames at timestep [B]; the state stays as it is.
  at::Tensor denoise(const VideoState& state, const at::Tensor& chunk, const at::Tensor& timestep,
                     const at::Tensor& text);

  /// Writes a finished chunk into the memory and the window.
  void write(VideoState& state, const at::Tensor& clean_chunk, const at::Tensor& text);

 private:
  /// body(), with the parameters of the block.
  template <class Body>
  void on_loan(const std::shared_ptr<VideoBlock>& block, const Body& body) const {
    const nn::Loan loan = {lender_, block};
    loan.begin(nn::Pass::forward);
    body();
    loan.end(nn::Pass::forward);
  }

  struct Context {
    TimeContext time;
    at::Tensor text;  ///< [B or B · parts, text_length, M]
  };

  void initialise();
  Context context(const at::Tensor& timesteps, const at::Tensor& text) const;
  /// Tokens of the latents; of those, what this rank holds.
  at::Tensor embed(const at::Tensor& latents, const Sharding* sharding = nullptr) const;
  at::Tensor decode(const at::Tensor& x, const at::Tensor& time) const;  ///< patches of the answer
  /// The velocity of latents, of whose parts the time steps are [B, parts], that the patches answer with.
  at::Tensor velocity(const at::Tensor& patches, const at::Tensor& latents,
                      const at::Tensor& timesteps) const;
  ChunkGrid grid_of(const at::Tensor& latents) const;
  void check_chunk(const VideoState& state, const at::Tensor& chunk) const;

  VideoConfig config_;
  parallel::World world_;
  nn::VideoPatch patch_;
  at::ScalarType compute_type_ = at::kFloat;
  std::shared_ptr<nn::Lender> lender_ = nn::lender_in_scope();  ///< of the blocks' parameters; usually null
  nn::Recompute recompute_ = lender_ ? nn::Recompute::blocks : nn::Recompute::none;
  std::shared_ptr<nn::Linear> patch_embedding_, head_;
  std::shared_ptr<TextEmbedding> text_embedding_;
  std::shared_ptr<TimeEmbedding> time_embedding_;
  std::vector<std::shared_ptr<VideoBlock>> blocks_;
  at::Tensor head_modulation_;  ///< [2, M]
};

}  // namespace lact::models
