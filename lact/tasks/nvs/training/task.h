// Training a view-synthesis model: from a few views of a scene to others, on photos, and on rendered scenes
// that never end.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lact/data/views/view_source.h"
#include "lact/io/image_size.h"
#include "lact/models/lpips/lpips.h"
#include "lact/models/nvs/view_model.h"
#include "lact/train/task.h"

namespace lact::tasks::nvs {

/// A stretch of training with pictures of one size and one number of views; later stages are larger.
struct Stage {
  int64_t steps = 0;
  io::ImageSize size = {64, 64};
  data::CountRange inputs = 4;
  data::CountRange targets = 4;
  int64_t scenes = 4;
  double near = 0;
  std::optional<double> rate = {};
  std::optional<int64_t> warmup = {};
  std::optional<double> perceptual = {};

  template <class Visitor>
  void visit(Visitor&& field) {
    field("steps", steps, "optimizer steps of this stage; 0, of the last one: all that are left");
    field("size", size, "pixels of the pictures: a number is a square, 72x128 rows and columns");
    field("inputs", inputs, "views that are read; 4-8: any number of them, another one for each batch");
    field("targets", targets, "other views that are rendered and compared, likewise");
    field("scenes", scenes, "scenes of a batch");
    field("near", near,
          "share of the targets of rendered scenes that stand near an input view: easier to learn, for a "
          "start");
    field("rate", rate,
          "highest learning rate; a stage that names a rate or a warm-up begins a schedule of its own, which "
          "the next ones go on with unless they do, too");
    field("warmup", warmup, "steps until it");
    field("perceptual", perceptual, "weight of the perceptual loss");
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
  double opacity = 0;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("perceptual", perceptual, "weight of the perceptual loss (LPIPS) beside the mean squared error");
    field("perceptual_from", perceptual_from,
          "steps before the perceptual loss begins; the authors: 5000, of weight 1 and network vgg");
    field("lpips", lpips, "folder of its weights");
    field("network", network, "its network: squeeze, alex or vgg");
    field(
        "opacity", opacity,
        "weight of the mean opacity of predicted Gaussians, which lets needless ones vanish; Long-LRM: 0.1");
  }
  bool operator==(const LossOptions&) const = default;
};

struct TaskOptions {
  std::vector<Stage> stages;
  int64_t accumulate = 1;  ///< batches of a step
  int64_t valid_scenes = 16;
  int64_t seed = 1;
  int64_t valid_seed = 1;  ///< of the scenes of validations
  int render_threads = 1;
  data::FrameChoice frame = data::FrameChoice::given;  ///< as the sources use it
  std::string samples;  ///< folder for sheets of rendered validation views; empty: none
  LossOptions loss;
};

class TrainingTask : public train::Task {
 public:
  /// Scenes of `valid` are never trained on; there may be none.
  TrainingTask(std::shared_ptr<models::ViewModel> model, std::shared_ptr<const data::ViewSource> train,
               std::shared_ptr<const data::ViewSource> valid, const TaskOptions& options);

  torch::nn::Module& model() override { return *model_; }
  void set_world(const parallel::World& world) override;
  at::Tensor loss(int64_t batch) override;
  std::string loss_text(double loss) const override;
  double rate(const train::RateSchedule& run, int64_t step) const override;
  int64_t tokens_of_batch(int64_t batch) const override;
  double flops_of_batch(int64_t batch) const override;

  /// PSNR and SSIM on held-out scenes in the size of the present stage; also the share of its time that
  /// training has waited for pictures.
  std::map<std::string, double> validate() override;
  void export_fixed_parts(const std::string& folder) override;
  void export_model(const std::string& folder) override;

 protected:
  models::ViewModel& nvs() const { return *model_; }
  const TaskOptions& options() const { return options_; }
  const Stage& present_stage() const { return stage_of(last_batch_); }
  /// Of the time since the first batch was asked for.
  double share_waited() const;
  /// samples/step_0000100.png
  void write_samples(const std::vector<std::vector<at::Tensor>>& rows) const;

 private:
  const Stage& stage_of(int64_t batch) const;
  data::BatchShape shape_of(int64_t batch) const;
  /// 0 until the perceptual loss begins.
  double perceptual_weight(int64_t batch) const;
  data::SceneBatch take(int64_t batch);
  /// Target views as the model sees them from the inputs.
  models::Prediction predict(const data::SceneBatch& batch);

  std::shared_ptr<models::ViewModel> model_;
  std::shared_ptr<const data::ViewSource> train_, valid_;
  TaskOptions options_;
  std::optional<models::Lpips> lpips_;
  const Stage* streamed_ = nullptr;  ///< the stage of stream_
  std::unique_ptr<data::SceneStream> stream_;
  double waited_ = 0;  ///< for streams of earlier stages
  std::optional<std::chrono::steady_clock::time_point> first_asked_;
  int64_t last_batch_ = 0;  ///< trained on
  double last_mse_ = 0;
  int64_t shards_ = 1;  ///< ranks that share the views of a scene
  bool writes_samples_ = true;
};

}  // namespace lact::tasks::nvs
