// The settings of a training run of a video model, for start_run, resume_run and plan_text of
// lact/train/run.h. The run's folder also holds codec/, text/ and samples/.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lact/data/clips/file_clips.h"
#include "lact/data/clips/story_options.h"
#include "lact/models/video/word_encoder.h"
#include "lact/nn/recompute.h"
#include "lact/ops/dispatch/precision.h"
#include "lact/tasks/video/training/task.h"
#include "lact/train/run.h"

namespace lact::tasks::video {

/// The paper's moving average and the authors' linear decay to 0; the rest for small models on a processor.
train::TrainOptions default_training();

struct ClipsOptions {
  data::FileClipsOptions files;
  data::StoryOptions stories;
  std::string cache;
  int64_t read_threads = 1;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("files", files, "clips on the disk; without paths, stories are made up");
    field("stories", stories, "made-up clips; their length and size are those of the stages");
    field("cache", cache,
          "folder for latents of clips on the disk; by default latents/ of the run where the codec is an "
          "autoencoder");
    field("read_threads", read_threads, "threads that read or make clips beside the training");
  }
  bool operator==(const ClipsOptions&) const = default;

  /// Throws one sentence for values that cannot work.
  void check() const;
};

struct Run {
  models::VideoConfig model;
  std::string initial_model;
  std::string codec = "pixels";
  std::string text = "words";
  models::WordEncoderConfig words;
  ClipsOptions clips;
  std::vector<Stage> stages = {Stage()};
  Learning learning;
  train::TrainOptions training = default_training();
  int64_t valid_clips = 16;
  ops::Precision precision = ops::Precision::automatic;
  nn::Recompute recompute = nn::Recompute::none;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("model", model, "the model");
    field("initial_model", initial_model,
          "model folder to begin with, which brings codec/ and text/ if it has them; without any, random "
          "weights");
    field("codec", codec, "pixels, or an autoencoder: its folder, or a published file");
    field("text", text,
          "words, the built-in encoder, or the folder of a umT5 encoder with its tokenizer.model");
    field("words", words, "the built-in text encoder; width and length are those of the model");
    field("clips", clips, "what is watched");
    field("stages", stages, "length and size of clips, one stage after the other");
    field("learning", learning, "what is learned of a clip");
    field("training", training, "the training loop");
    field("valid_clips", valid_clips, "clips of a validation; 0 is none");
    field("precision", precision,
          "f32, bf16, or auto: bf16 where this processor multiplies it faster; weights and fast weights stay "
          "f32");
    field("recompute", recompute, nn::kRecomputeHelp);
  }

  // See lact/train/run.h.
  static options::Json in_todays_words(options::Json run);
  void check() const;
  void make_paths_absolute();
  void use_copies_in(const std::string& folder);
  std::shared_ptr<train::Task> make_task(const std::string& folder, const std::string& initial);
  train::Plan plan() const;
};

/// Clips of a stage, made up or read.
std::shared_ptr<const data::ClipSource> open_clips(const ClipsOptions& options, const VideoParts& parts,
                                                   int64_t chunks, const data::ClipShape& shape, int64_t seed,
                                                   data::ClipPart part);

}  // namespace lact::tasks::video
