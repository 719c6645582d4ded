// A whole training run of a video model. The run's folder holds everything to go on: run.json, checkpoints/,
// metrics.jsonl, tensorboard/, samples/, and the model as others read it, with codec/ and text/.
#pragma once

#include <string>
#include <vector>

#include "lact/data/clips/file_clips.h"
#include "lact/data/clips/story_options.h"
#include "lact/models/video/word_encoder.h"
#include "lact/tasks/video/training/task.h"
#include "lact/train/precision.h"
#include "lact/train/trainer.h"

namespace lact::train {

/// The paper's moving average; the rest for small models on a processor.
TrainOptions video_training();

struct VideoClipsOptions {
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
  bool operator==(const VideoClipsOptions&) const = default;
};

struct VideoRun {
  models::VideoConfig model;
  std::string codec = "pixels";
  std::string text = "words";
  models::WordEncoderConfig words;
  VideoClipsOptions clips;
  std::vector<VideoStage> stages = {VideoStage()};
  VideoLearning learning;
  TrainOptions training = video_training();
  int64_t valid_clips = 16;
  Precision precision = Precision::f32;
  nn::Recompute recompute = nn::Recompute::none;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("model", model, "the model");
    field("codec", codec, "pixels, or an autoencoder: its folder, or a published file");
    field("text", text,
          "words, the built-in encoder, or the folder of a umT5 encoder with its tokenizer.model");
    field("words", words, "the built-in text encoder; width and length are those of the model");
    field("clips", clips, "what is watched");
    field("stages", stages, "length and size of clips, one stage after the other");
    field("learning", learning, "what is learned of a clip");
    field("training", training, "the training loop");
    field("valid_clips", valid_clips, "clips of a validation; 0 is none");
    field("precision", precision, "f32, or bf16 for matrix products; weights and fast weights stay f32");
    field("recompute", recompute, nn::kRecomputeHelp);
  }

  /// Throws one sentence for values that cannot work.
  void check() const;
};

/// Clips of a stage, made up or read.
std::shared_ptr<const data::ClipSource> open_clips(const VideoClipsOptions& options, const VideoParts& parts,
                                                   int64_t chunks, const data::ClipShape& shape, int64_t seed,
                                                   data::ClipPart part);

/// Trains in `options.folder`; with `initial_model`, from the weights of that folder, which brings codec/ and
/// text/ if it has them. The folder must not hold another run.
TrainResult start_run(const VideoRun& run, const RunOptions& options, const std::string& initial_model = "");

/// Goes on with the run in options.folder from its newest checkpoint.
TrainResult resume_video_run(const RunOptions& options);

/// What a run would take: parameters, tokens and work, as text.
std::string plan_text(const VideoRun& run);

}  // namespace lact::train
