// What training, evaluation and drawing know of a model: it reads posed images of a scene, and shows the
// scene from elsewhere.
#pragma once

#include <torch/nn/module.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lact/mixers/state.h"
#include "lact/models/nvs/config.h"
#include "lact/nn/recompute.h"
#include "lact/parallel/world.h"

namespace lact::models {

/// What a model remembers of a scene: the memory of each block, or, with a Perceiver, one that all blocks
/// share. Fast weights, states of recurrences and registers have a size that does not depend on the number of
/// views; with full attention they are keys and values of every token. Of a model with a Gaussian head it is
/// the Gaussians instead, and nothing else.
struct NvsState : State {
  std::vector<std::unique_ptr<State>> memories;
  bool shared = false;  ///< there is one for all blocks
  std::optional<ops::Gaussians> gaussians;

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

/// Views of B scenes, for training: some are read, the others are to be shown.
struct SceneViews {
  at::Tensor images;           ///< of those that are read: [B, V, 3, H, W] in [0, 1]
  at::Tensor intrinsics;       ///< [B, V + T, 4]: of those that are read, then of the others
  at::Tensor camera_to_world;  ///< [B, V + T, 4, 4]

  int64_t inputs() const { return images.size(1); }
  int64_t targets() const { return intrinsics.size(1) - images.size(1); }
  io::ImageSize size() const { return {images.size(3), images.size(4)}; }
};

struct Prediction {
  at::Tensor views;         ///< [B, T, 3, H, W], float32 or wider; colours in [0, 1] unless Gaussians overlap
  at::Tensor mean_opacity;  ///< of the Gaussians, a number; undefined without a Gaussian head
};

class ViewModel : public torch::nn::Module {
 public:
  const NvsConfig& config() const { return config_; }

  /// float32, or bfloat16 for matrix products and activations of the blocks. Parameters, fast weights, norms,
  /// Gaussians and the layer that reads rays and colours stay as they are.
  void set_compute_type(at::ScalarType type) { compute_type_ = type; }

  /// What the backward pass computes again instead of finding it kept.
  void set_recompute(nn::Recompute what);

  /// Ranks that share the views of a training step, whole views each; all get all target views.
  virtual void set_world(const parallel::World& world);
  const parallel::World& world() const { return world_; }

  /// Training: the other views as they are seen from those that are read.
  virtual Prediction predict(const SceneViews& views) = 0;

  /// Reads a scene: images [3, H, W] in [0, 1] of any sizes that divide into patches, intrinsics [V, 4],
  /// camera_to_world [V, 4, 4]. Without gradients.
  std::unique_ptr<NvsState> reconstruct(const std::vector<at::Tensor>& images, const at::Tensor& intrinsics,
                                        const at::Tensor& camera_to_world,
                                        const ReconstructOptions& options = {});

  /// The same from views that need not be in memory together: `load` is asked once for each of them, in order
  /// and a piece at a time. `sizes` are those of their images.
  virtual std::unique_ptr<NvsState> reconstruct(const std::vector<io::ImageSize>& sizes,
                                                const LoadViews& load,
                                                const ReconstructOptions& options = {}) = 0;

  /// Reads further views into a scene, which they are written into together: `state` goes on from what it
  /// holds. For memories of LaCT and of full attention; the result is near to that of reading all views at
  /// once, and not the same.
  virtual void read_more(NvsState& state, const std::vector<io::ImageSize>& sizes, const LoadViews& load,
                         const ReconstructOptions& options = {}) = 0;

  /// One view of the scene, [3, height, width] in [0, 1]: intrinsics [4], camera_to_world [4, 4]. Without
  /// gradients; the state stays as it is, so that several threads may render from it.
  virtual at::Tensor render(const NvsState& state, const at::Tensor& intrinsics,
                            const at::Tensor& camera_to_world, int64_t height, int64_t width) = 0;

  /// A scene of which nothing was seen: the learned initial memory, or no Gaussian.
  virtual std::unique_ptr<NvsState> initial_state(int64_t batch = 1) = 0;

 protected:
  explicit ViewModel(const NvsConfig& config);

  NvsConfig config_;
  parallel::World world_;
  at::ScalarType compute_type_ = at::kFloat;
  std::shared_ptr<nn::Lender> lender_ = nn::lender_in_scope();  ///< of the blocks' parameters; usually null
  nn::Recompute recompute_ = lender_ ? nn::Recompute::blocks : nn::Recompute::none;
};

/// The model that a config describes, freshly initialised from LibTorch's random generator.
std::shared_ptr<ViewModel> make_view_model(const NvsConfig& config);

/// Throws a sentence unless it is [3, H, W] of floating point numbers; of `expected` height and width, if
/// that is given.
void check_input_image(const at::Tensor& image, int64_t index, const io::ImageSize* expected = nullptr);

}  // namespace lact::models
