// The view-synthesis model of paper section 4.1: posed images are written into a memory, views are rendered
// from it.
#pragma once

#include <torch/nn/module.h>

#include <functional>
#include <vector>

#include "lact/models/nvs/block.h"
#include "lact/parallel/world.h"

namespace lact::models {

/// What the model remembers of a scene: the memory of each block, or, with a Perceiver, one that all blocks
/// share. Fast weights, states of recurrences and registers have a size that does not depend on the number of
/// views; with full attention they are keys and values of every token.
struct NvsState : State {
  std::vector<std::unique_ptr<State>> memories;
  bool shared = false;  ///< there is one for all blocks

  State& of_block(size_t index) const { return *memories[shared ? 0 : index]; }

  void visit(StateVisitor& visitor, const std::string& prefix) override;
  std::unique_ptr<State> clone() const override;
};

struct ReconstructOptions {
  int64_t piece_tokens = 16384;  ///< tokens that pass through a layer at a time, at least one view
  std::function<void(int64_t layer, int64_t layers)> on_layer = {};  ///< called before each layer
  std::function<void(int64_t done, int64_t total)> on_piece = {};    ///< called after each piece of the work
};

/// Images [3, H, W] in [0, 1], intrinsics [V, 4], camera_to_world [V, 4, 4].
struct InputViews {
  std::vector<at::Tensor> images;
  at::Tensor intrinsics, camera_to_world;
};

/// Gives the views from `first` on.
using LoadViews = std::function<InputViews(int64_t first, int64_t count)>;

struct InputPiece;

class NvsModel : public torch::nn::Module {
 public:
  /// Freshly initialised from LibTorch's random generator.
  explicit NvsModel(const NvsConfig& config);

  const NvsConfig& config() const { return config_; }

  /// float32, or bfloat16 for matrix products and activations of the blocks. Parameters, fast weights, norms
  /// and the layer that reads rays and colours stay as they are.
  void set_compute_type(at::ScalarType type) { compute_type_ = type; }

  /// What the backward pass computes again instead of finding it kept.
  void set_recompute(nn::Recompute what);

  /// Ranks that share the views of a training step, whole views each; all get all target views.
  void set_world(const parallel::World& world);
  const parallel::World& world() const { return world_; }

  /// Training: images of the input views [B, V, 3, H, W] in [0, 1], rays [B, V, 9, H, W] and
  /// [B, T, 9, H, W] as ops::plucker_rays gives them -> target views [B, T, 3, H, W] in [0, 1], float32 or
  /// wider.
  at::Tensor forward(const at::Tensor& images, const at::Tensor& input_rays, const at::Tensor& target_rays);

  /// Reads a scene: images [3, H, W] in [0, 1] of any sizes that divide into patches, intrinsics [V, 4],
  /// camera_to_world [V, 4, 4]. Without gradients. Layer by layer and piece by piece: besides the result, one
  /// hidden vector per token is in memory.
  std::unique_ptr<NvsState> reconstruct(const std::vector<at::Tensor>& images, const at::Tensor& intrinsics,
                                        const at::Tensor& camera_to_world,
                                        const ReconstructOptions& options = {});

  /// The same from views that need not be in memory together: `load` is asked once for each of them, in order
  /// and a piece at a time. `sizes` are those of their images.
  std::unique_ptr<NvsState> reconstruct(const std::vector<io::ImageSize>& sizes, const LoadViews& load,
                                        const ReconstructOptions& options = {});

  /// Reads further views into a scene, which they are written into together: `state` goes on from what it
  /// holds. For memories of LaCT and of full attention; the result is near to that of reading all views at
  /// once, and not the same.
  void read_more(NvsState& state, const std::vector<io::ImageSize>& sizes, const LoadViews& load,
                 const ReconstructOptions& options = {});

  /// One view of the scene, [3, height, width] in [0, 1]: intrinsics [4], camera_to_world [4, 4]. Without
  /// gradients; the state stays as it is, so that several threads may render from it.
  at::Tensor render(const NvsState& state, const at::Tensor& intrinsics, const at::Tensor& camera_to_world,
                    int64_t height, int64_t width);

  /// The learned initial memory: a scene of which nothing was seen.
  std::unique_ptr<NvsState> initial_state(int64_t batch = 1);

 private:
  void write_views(NvsState& state, const std::vector<io::ImageSize>& sizes, const LoadViews& load,
                   const ReconstructOptions& options);
  /// Tokens [1, T, M] of views of one size.
  at::Tensor embed_inputs(const InputViews& views, int64_t first, const io::ImageSize& size) const;
  /// Views [B, V, 9 or 12, H, W] -> tokens [B, T, M]; missing colours are zeros.
  at::Tensor embed(const at::Tensor& views) const;
  /// A layer of `reconstruct`: writes the tokens of all pieces into the memory; unless `last`, they read it.
  void read_layer(NvsBlock& block, std::vector<InputPiece>& pieces, State& memory, bool last,
                  const std::function<void()>& piece_done) const;
  /// Tokens of views -> colours of their patches.
  at::Tensor decode(const at::Tensor& x) const;

  NvsConfig config_;
  parallel::World world_;
  at::ScalarType compute_type_ = at::kFloat;
  std::shared_ptr<nn::Lender> lender_ = nn::lender_in_scope();  ///< of the blocks' parameters; usually null
  nn::Recompute recompute_ = lender_ ? nn::Recompute::blocks : nn::Recompute::none;
  std::shared_ptr<nn::Linear> input_, decoder_;
  std::shared_ptr<nn::Norm> input_norm_, decoder_norm_;
  std::shared_ptr<perceiver::Registers> registers_;  ///< of a Perceiver; null otherwise
  std::vector<std::shared_ptr<NvsBlock>> blocks_;
};

}  // namespace lact::models
