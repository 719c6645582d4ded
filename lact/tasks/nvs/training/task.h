// Training a view-synthesis model: from a few views of a scene to others, on rendered scenes that never end.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lact/data/views/frame_choice.h"
#include "lact/data/views/scene_source.h"
#include "lact/data/views/scene_stream.h"
#include "lact/models/lpips/lpips.h"
#include "lact/models/nvs/model.h"
#include "lact/train/task.h"

namespace lact::tasks::nvs {

/// A stretch of training with pictures of one size and one number of views; later stages are larger.
struct Stage {
  int64_t steps = 0;
  int64_t size = 64;
  int64_t inputs = 4;
  int64_t targets = 4;
  int64_t scenes = 4;
  double near = 0;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("steps", steps, "optimizer steps of this stage; 0, of the last one: all that are left");
    field("size", size, "height and width of the pictures in pixels");
    field("inputs", inputs, "views that are read");
    field("targets", targets, "other views that are rendered and compared");
    field("scenes", scenes, "scenes of a batch");
    field("near", near, "share of the targets that stand near an input view: easier to learn, for a start");
  }
  bool operator==(const Stage&) const = default;
};

/// Throws one sentence for stages that cannot work with this many steps and this patch.
void check_stages(const std::vector<Stage>& stages, int64_t steps, int64_t patch_size);

struct LossOptions {
  double perceptual = 0;
  int64_t perceptual_from = 0;
  std::string lpips;
  models::LpipsNetwork network = models::LpipsNetwork::squeeze;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("perceptual", perceptual, "weight of the perceptual loss (LPIPS) beside the mean squared error");
    field("perceptual_from", perceptual_from,
          "steps before the perceptual loss begins; the authors: 5000, of weight 1 and network vgg");
    field("lpips", lpips, "folder of its weights");
    field("network", network, "its network: squeeze, alex or vgg");
  }
  bool operator==(const LossOptions&) const = default;
};

struct TaskOptions {
  std::vector<Stage> stages;
  int64_t accumulate = 1;  ///< batches of a step
  int64_t valid_scenes = 16;
  int64_t seed = 1;
  int render_threads = 1;
  data::FrameChoice frame = data::FrameChoice::given;
  std::string samples;  ///< folder for sheets of rendered validation views; empty: none
  LossOptions loss;
};

class TrainingTask : public train::Task {
 public:
  /// Scenes of `valid` are never trained on.
  TrainingTask(std::shared_ptr<models::NvsModel> model, std::shared_ptr<const data::SceneSource> train,
               std::shared_ptr<const data::SceneSource> valid, const TaskOptions& options);

  torch::nn::Module& model() override { return *model_; }
  void set_world(const parallel::World& world) override;
  at::Tensor loss(int64_t batch) override;
  std::string loss_text(double loss) const override;
  int64_t tokens_of_batch(int64_t batch) const override;
  double flops_of_batch(int64_t batch) const override;

  /// PSNR and SSIM on held-out scenes in the size of the present stage; also the seconds that training has
  /// waited for pictures.
  std::map<std::string, double> validate() override;
  void export_fixed_parts(const std::string& folder) override;
  void export_model(const std::string& folder) override;

 private:
  const Stage& stage_of(int64_t batch) const;
  /// Whether the perceptual loss has begun.
  bool is_perceptual(int64_t batch) const;
  data::SceneBatch take(int64_t batch);
  /// Target views [B, T, 3, H, W] as the model sees them from the inputs.
  at::Tensor predict(const data::SceneBatch& batch, const Stage& stage);
  void write_samples(const at::Tensor& truth, const at::Tensor& rendered) const;

  std::shared_ptr<models::NvsModel> model_;
  std::shared_ptr<const data::SceneSource> train_, valid_;
  TaskOptions options_;
  std::optional<models::Lpips> lpips_;
  const Stage* streamed_ = nullptr;  ///< the stage of stream_
  std::unique_ptr<data::SceneStream> stream_;
  double waited_ = 0;       ///< for streams of earlier stages
  int64_t last_batch_ = 0;  ///< trained on
  double last_mse_ = 0;
  int64_t shards_ = 1;  ///< ranks that share the views of a scene
  bool writes_samples_ = true;
};

/// Brings the cameras of each scene into the frame that its input views give it, as scenes are read later.
void to_frames(data::SceneBatch& batch, int64_t inputs, data::FrameChoice choice);

}  // namespace lact::tasks::nvs
