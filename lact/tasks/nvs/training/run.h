// The settings of a training run of a view-synthesis model, for start_run, resume_run and plan_text of
// lact/train/run.h. The run's folder also holds samples/: sheets of rendered validation views.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lact/nn/recompute.h"
#include "lact/ops/dispatch/precision.h"
#include "lact/tasks/nvs/training/task.h"
#include "lact/train/run.h"

namespace lact::tasks::nvs {

/// The paper's settings where it says them: AdamW with a highest rate of 4e-4 and a weight decay of 0.05.
train::TrainOptions default_training();

struct Run {
  models::NvsConfig model;
  std::string initial_model;
  data::SceneSourceConfig scenes;
  data::PhotoConfig photos;
  std::vector<Stage> stages = {Stage()};
  data::FrameChoice frame = data::FrameChoice::given;
  LossOptions loss;
  train::TrainOptions training = default_training();
  int64_t valid_scenes = 16;
  std::optional<int64_t> valid_seed = {};
  int64_t render_threads = 1;
  ops::Precision precision = ops::Precision::automatic;
  nn::Recompute recompute = nn::Recompute::none;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("model", model, "the model");
    field("initial_model", initial_model,
          "model folder or checkpoint file to begin with; without any, random weights");
    field("scenes", scenes, "what is looked at, where it is rendered");
    field("photos", photos, "what is looked at, where it was photographed");
    field("stages", stages, "sizes and numbers of views, one stage after the other");
    field("frame", frame,
          "coordinates of the scenes for the model: given (objects at the origin, z up) or mean_pose (of the "
          "input views, as the authors do for whole scenes)");
    field("loss", loss, "what is made small");
    field("training", training, "the training loop");
    field("valid_scenes", valid_scenes, "scenes of a validation; 0 is none");
    field("valid_seed", valid_seed, "of the scenes of validations; without it that of the training");
    field("render_threads", render_threads, "threads that render and decode pictures beside the training");
    field("precision", precision,
          "f32, bf16, or auto: bf16 where this processor multiplies it faster; weights and fast weights stay "
          "f32");
    field("recompute", recompute, nn::kRecomputeHelp);
  }

  // See lact/train/run.h.
  void check() const;
  void make_paths_absolute();
  void use_copies_in(const std::string& /*folder*/) {}
  std::shared_ptr<models::ViewModel> make_model(const std::string& initial);
  TaskOptions task_options(const std::string& folder) const;
  std::shared_ptr<const data::ViewSource> source(data::ScenePart part) const;
  std::shared_ptr<train::Task> make_task(const std::string& folder, const std::string& initial);
  train::Plan plan() const;
};

}  // namespace lact::tasks::nvs
