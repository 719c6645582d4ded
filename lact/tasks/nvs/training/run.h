// A whole training run of a view-synthesis model. The run's folder holds everything to go on: run.json,
// checkpoints/, metrics.jsonl, tensorboard/, samples/, and the model as others read it.
#pragma once

#include <string>
#include <vector>

#include "lact/tasks/nvs/training/task.h"
#include "lact/train/precision.h"
#include "lact/train/trainer.h"

namespace lact::train {

/// The paper's settings where it says them: AdamW with a highest rate of 4e-4 and a weight decay of 0.05.
TrainOptions nvs_training();

struct NvsRun {
  models::NvsConfig model;
  data::SceneSourceConfig scenes;
  std::vector<NvsStage> stages = {NvsStage()};
  data::FrameChoice frame = data::FrameChoice::given;
  NvsLossOptions loss;
  TrainOptions training = nvs_training();
  int64_t valid_scenes = 16;
  int64_t render_threads = 1;
  Precision precision = Precision::f32;
  nn::Recompute recompute = nn::Recompute::none;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("model", model, "the model");
    field("scenes", scenes, "what is looked at");
    field("stages", stages, "sizes and numbers of views, one stage after the other");
    field("frame", frame,
          "coordinates of the scenes for the model: given (objects at the origin, z up) or mean_pose (of the "
          "input views, as the authors do for whole scenes)");
    field("loss", loss, "what is made small");
    field("training", training, "the training loop");
    field("valid_scenes", valid_scenes, "scenes of a validation; 0 is none");
    field("render_threads", render_threads, "threads that render pictures beside the training");
    field("precision", precision, "f32, or bf16 for matrix products; weights and fast weights stay f32");
    field("recompute", recompute, nn::kRecomputeHelp);
  }

  /// Throws one sentence for values that cannot work.
  void check() const;
};

/// Trains in `options.folder`; with `initial_model`, from the weights of that model folder or checkpoint
/// file. The folder must not hold another run.
TrainResult start_run(const NvsRun& run, const RunOptions& options, const std::string& initial_model = "");

/// Goes on with the run in options.folder from its newest checkpoint.
TrainResult resume_nvs_run(const RunOptions& options);

/// What a run would take: parameters, tokens and work, as text.
std::string plan_text(const NvsRun& run);

}  // namespace lact::train
