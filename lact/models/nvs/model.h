// The view-synthesis model of paper section 4.1: posed images are written into a memory, views are rendered
// from it.
#pragma once

#include <vector>

#include "lact/models/nvs/block.h"
#include "lact/models/nvs/view_model.h"

namespace lact::models {

struct InputPiece;

class NvsModel : public ViewModel {
 public:
  /// Freshly initialised from LibTorch's random generator.
  explicit NvsModel(const NvsConfig& config);

  /// Training of an image head: images of the input views [B, V, 3, H, W] in [0, 1], rays [B, V, 9, H, W] and
  /// [B, T, 9, H, W] as ops::plucker_rays gives them -> target views [B, T, 3, H, W] in [0, 1], float32 or
  /// wider.
  at::Tensor forward(const at::Tensor& images, const at::Tensor& input_rays, const at::Tensor& target_rays);
  Prediction predict(const SceneViews& views) override;

  /// Layer by layer and piece by piece: besides the result, one hidden vector per token is in memory.
  using ViewModel::reconstruct;
  std::unique_ptr<NvsState> reconstruct(const std::vector<io::ImageSize>& sizes, const LoadViews& load,
                                        const ReconstructOptions& options = {}) override;
  void read_more(NvsState& state, const std::vector<io::ImageSize>& sizes, const LoadViews& load,
                 const ReconstructOptions& options = {}) override;
  at::Tensor render(const NvsState& state, const at::Tensor& intrinsics, const at::Tensor& camera_to_world,
                    int64_t height, int64_t width) override;
  std::unique_ptr<NvsState> initial_state(int64_t batch = 1) override;

 private:
  /// The learned initial memory of all blocks.
  std::unique_ptr<NvsState> initial_memories(int64_t batch);
  /// Writes the views into the memories. What their tokens have become at the end, if the head wants them.
  std::vector<InputPiece> write_views(NvsState& state, const std::vector<io::ImageSize>& sizes,
                                      const LoadViews& load, const ReconstructOptions& options);
  bool head_reads_inputs() const { return config_.has_gaussians() && config_.gaussians.virtual_views == 0; }
  /// Tokens [1, T, M] of views of one size.
  at::Tensor embed_inputs(const InputViews& views, int64_t first, const io::ImageSize& size) const;
  /// Views [B, V, 9 or 12, H, W] -> tokens [B, T, M]; missing colours are zeros.
  at::Tensor embed(const at::Tensor& views) const;
  /// A layer of `reconstruct`: writes the tokens of all pieces into the memory, which they read if
  /// `read_back`.
  void read_layer(NvsBlock& block, std::vector<InputPiece>& pieces, State& memory, bool read_back,
                  const std::function<void()>& piece_done) const;
  /// Tokens of one view that looks at the memories [1, T, M]; rays [9, H, W].
  at::Tensor look(const NvsState& state, const at::Tensor& rays) const;
  /// Training: what the decoder says of the views [B, T, 9, H, W] that look at the inputs, or where there is
  /// none of the inputs themselves.
  at::Tensor say(const at::Tensor& images, const at::Tensor& input_rays, const at::Tensor& looking_rays);
  /// Gaussians from the tokens of views of one size, whose cameras are [B, V, 4] and [B, V, 4, 4].
  ops::Gaussians gaussians_of(const at::Tensor& said, const at::Tensor& intrinsics,
                              const at::Tensor& camera_to_world, const io::ImageSize& size) const;
  /// Of `views` cameras, those that become virtual views.
  at::Tensor virtual_views(int64_t views) const;
  ops::Gaussians look_virtually(const NvsState& memories, const std::vector<InputPiece>& pieces,
                                const std::vector<io::ImageSize>& sizes) const;
  /// Tokens -> the decoder's numbers, float32 or wider.
  at::Tensor decode(const at::Tensor& x) const;

  std::shared_ptr<nn::Linear> input_, decoder_;
  std::shared_ptr<nn::Norm> input_norm_, decoder_norm_;
  std::shared_ptr<perceiver::Registers> registers_;  ///< of a Perceiver; null otherwise
  std::vector<std::shared_ptr<NvsBlock>> blocks_;
};

}  // namespace lact::models
