// Long-LRM (Ziwen et al. 2024): the tokens of all views and a few global ones go through Mamba-2 blocks and
// Transformer layers together, are merged on the way, and become one Gaussian per pixel.
#pragma once

#include <variant>
#include <vector>

#include "lact/models/common/block.h"
#include "lact/models/common/foreign.h"
#include "lact/models/nvs/token_merging.h"
#include "lact/models/nvs/view_model.h"
#include "lact/nn/linear.h"

namespace lact::models {

class LongLrm : public ViewModel {
 public:
  /// Freshly initialised from LibTorch's random generator. REQUIRES: config.is_long_lrm()
  explicit LongLrm(const NvsConfig& config);

  /// A sequence is not shared by ranks: its convolutions do not reach over them.
  void set_world(const parallel::World& world) override;

  /// images [B, V, 3, H, W] in [0, 1], intrinsics [B, V, 4], camera_to_world [B, V, 4, 4] -> a Gaussian for
  /// each pixel, with the batch in front. Sides are multiples of config().decoded_patch().
  ops::Gaussians gaussians(const at::Tensor& images, const at::Tensor& intrinsics,
                           const at::Tensor& camera_to_world,
                           const std::function<void(int64_t done, int64_t total)>& on_layer_done = {});

  Prediction predict(const SceneViews& views) override;

  /// All views at once, and of one size: every layer sees the whole sequence.
  using ViewModel::reconstruct;
  std::unique_ptr<NvsState> reconstruct(const std::vector<io::ImageSize>& sizes, const LoadViews& load,
                                        const ReconstructOptions& options = {}) override;
  /// Refused: Gaussians do not grow.
  void read_more(NvsState& state, const std::vector<io::ImageSize>& sizes, const LoadViews& load,
                 const ReconstructOptions& options = {}) override;
  at::Tensor render(const NvsState& state, const at::Tensor& intrinsics, const at::Tensor& camera_to_world,
                    int64_t height, int64_t width) override;
  std::unique_ptr<NvsState> initial_state(int64_t batch = 1) override;

 private:
  using Layer = std::variant<std::shared_ptr<Mixer>, std::shared_ptr<Block>>;  ///< Mamba-2 or Transformer

  /// Global and image tokens in front of the layers, [B, G + V · H/patch · W/patch, M].
  at::Tensor embed(const at::Tensor& images, const at::Tensor& rays) const;
  at::Tensor run_layer(size_t index, const at::Tensor& x, const io::ImageSize& grid);

  at::Tensor global_tokens_;  ///< [G, M]; undefined if there are none
  std::shared_ptr<nn::Linear> input_, decoder_;
  std::shared_ptr<nn::Norm> input_norm_, decoder_norm_;
  std::shared_ptr<TokenMerging> merging_;  ///< null if tokens are never merged
  std::vector<Layer> layers_;
};

/// Its published names.
ForeignNames long_lrm_names(const NvsConfig& config);

}  // namespace lact::models
