// Training a video model: the velocity of noisy chunks that follow clean ones (teacher forcing), on latents
// of clips and their captions. The built-in text encoder learns along.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lact/data/clips/clip_stream.h"
#include "lact/models/video/flow.h"
#include "lact/tasks/video/load.h"
#include "lact/train/task.h"

namespace lact::tasks::video {

/// A stretch of training with clips of one size; later stages are longer or larger.
struct Stage {
  int64_t steps = 0;
  int64_t chunks = 6;
  int64_t height = 0;
  int64_t width = 0;
  int64_t clips = 4;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("steps", steps, "optimizer steps of this stage; 0, of the last one: all that are left");
    field("chunks", chunks, "chunks of a clip");
    field("height", height, "height of a clip in pixels; 0: that of the model");
    field("width", width, "width of a clip in pixels; 0: that of the model");
    field("clips", clips, "clips of a batch");
  }
  bool operator==(const Stage&) const = default;

  /// Throws one sentence for values that cannot work, whatever the model.
  void check(size_t number) const;
};

/// What is trained: everything, or what became of Wan's self-attention, LaCT included.
enum class TrainedPart { all, attention };
constexpr std::array<std::pair<TrainedPart, std::string_view>, 2> enum_names(TrainedPart) {
  return {{{TrainedPart::all, "all"}, {TrainedPart::attention, "attention"}}};
}

struct Learning {
  int64_t noise_repeats = 1;
  double text_dropout = 0.1;
  TrainedPart train = TrainedPart::all;
  double new_rate = 0;
  models::FlowOptions flow = {.shift = 0};

  template <class Visitor>
  void visit(Visitor&& field) {
    field("noise_repeats", noise_repeats, "noisy copies of each chunk, at levels of their own: 1 or 2");
    field("text_dropout", text_dropout,
          "share of clips whose caption is withheld, so that generation can be guided away from no text");
    field("train", train, "all, or attention: only the weights of self-attention and memory");
    field(
        "new_rate", new_rate,
        "learning rate of the memory's weights as a multiple of the others'; 0: 10 if the run begins with a "
        "model without memory, else 1");
    field("flow", flow,
          "noise levels and their weights; shift 0: by the tokens of a chunk, as the authors do");
  }
  bool operator==(const Learning&) const = default;

  /// With the shift that belongs to chunks of so many tokens, unless one was chosen.
  models::FlowOptions flow_for(int64_t chunk_tokens) const;

  /// Throws one sentence for values that cannot work.
  void check() const;
};

/// Frames of a clip in pixels, such that its latents fill the chunks.
int64_t clip_frames(const models::VideoConfig& config, const models::VideoCodec& codec, int64_t chunks);
/// The stage's clips; sides that it leaves open are those of the model.
data::ClipShape clip_shape(const VideoParts& parts, const Stage& stage);

/// Throws one sentence for stages that cannot work.
void check_stages(const std::vector<Stage>& stages, int64_t steps);
/// The same for what depends on the model and its codec.
void check_shapes(const std::vector<Stage>& stages, const VideoParts& parts);

/// Clips of a shape, of one part or the other; called for every stage, before training.
using OpenClips = std::function<std::shared_ptr<const data::ClipSource>(
    const Stage& stage, const data::ClipShape& shape, data::ClipPart part)>;

struct TaskOptions {
  std::vector<Stage> stages;
  Learning learning;
  int64_t accumulate = 1;  ///< batches of a step
  int64_t valid_clips = 16;
  int64_t seed = 1;
  int read_threads = 1;
  std::string text;     ///< folder of a text encoder that is not trained; empty: the built-in one
  std::string cache;    ///< folder for latents; empty: none
  std::string samples;  ///< folder for sheets of validation clips and what the model makes of them; or empty
};

class TrainingTask : public train::Task {
 public:
  TrainingTask(VideoParts parts, const OpenClips& open_clips, const TaskOptions& options);

  torch::nn::Module& model() override { return *learner_; }
  void set_world(const parallel::World& world) override;
  at::Tensor loss(int64_t batch) override;
  double rate_factor(const std::string& parameter) const override;
  int64_t tokens_of_batch(int64_t batch) const override;
  double flops_of_batch(int64_t batch) const override;

  /// Mean squared error of the velocity on held-out clips at the timesteps of the paper's evaluation, over
  /// all chunks and of the last one, in the size of the present stage.
  std::map<std::string, double> validate() override;
  /// The transformer's config, codec/, and a link text/ to an encoder that is too large for a copy.
  void export_fixed_parts(const std::string& folder) override;
  /// The transformer and, if it is trained, text/.
  void export_model(const std::string& folder) override;

 private:
  using Clips = std::shared_ptr<const data::ClipSource>;
  struct StageClips {
    Clips train, valid;
  };

  size_t stage_number(int64_t batch) const;
  const Stage& stage_of(int64_t batch) const { return options_.stages[stage_number(batch)]; }
  data::SampleMaker latents_of(const Clips& clips) const;
  void write_samples(const data::ClipBatch& batch, const at::Tensor& text);

  VideoParts parts_;
  std::shared_ptr<torch::nn::Module> learner_;  ///< model and text encoder together
  TaskOptions options_;
  std::vector<StageClips> clips_;   ///< of the stages
  std::optional<size_t> streamed_;  ///< the stage of stream_
  std::unique_ptr<data::ClipStream> stream_;
  int64_t last_batch_ = 0;  ///< trained on
  int64_t shards_ = 1;      ///< ranks that share a sequence
  bool writes_samples_ = true;
};

}  // namespace lact::tasks::video
