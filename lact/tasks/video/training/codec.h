// Training an autoencoder of clips: through a sample of the latents and back. The folder of such a run is a
// codec for `lact video train`.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "lact/data/clips/clip_stream.h"
#include "lact/models/vae/loss.h"
#include "lact/tasks/video/training/run.h"
#include "lact/train/task.h"

namespace lact::tasks::video {

struct CodecClips {
  int64_t frames = 17;
  int64_t height = 64;
  int64_t width = 64;
  int64_t batch = 4;
  int64_t valid = 16;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("frames", frames, "frames of a clip: 1 and a multiple of what becomes one latent frame");
    field("height", height, "height of a clip in pixels");
    field("width", width, "width of a clip in pixels");
    field("batch", batch, "clips of a batch");
    field("valid", valid, "clips of a validation, which also give the scale of the latents");
  }
  bool operator==(const CodecClips&) const = default;

  /// Throws one sentence for clips that an autoencoder of this kind cannot read.
  void check(const models::VaeConfig& config) const;
  /// Places of the latents of a batch.
  int64_t tokens(const models::VaeConfig& config) const;
  /// Operations of a batch, forward and backward.
  double flops(const models::VaeConfig& config) const;
};

class CodecTask : public train::Task {
 public:
  /// Clips of `valid` are never trained on.
  CodecTask(std::shared_ptr<models::Vae> model, std::shared_ptr<const data::ClipSource> train,
            std::shared_ptr<const data::ClipSource> valid, const CodecClips& clips,
            const models::VaeLossOptions& loss, int64_t seed, int read_threads, std::string samples);

  torch::nn::Module& model() override { return *model_; }
  at::Tensor loss(int64_t batch) override;
  int64_t tokens_of_batch(int64_t /*batch*/) const override { return clips_.tokens(model_->config()); }
  double flops_of_batch(int64_t /*batch*/) const override { return clips_.flops(model_->config()); }

  /// PSNR of held-out clips through the mean of their latents; sheets of them.
  std::map<std::string, double> validate() override;
  /// With the scale of the latents of held-out clips.
  void export_model(const std::string& folder) override;

 private:
  at::Tensor valid_pixels(int64_t first, int64_t count) const;
  void write_samples(const at::Tensor& pixels, const at::Tensor& decoded) const;

  std::shared_ptr<models::Vae> model_;
  std::shared_ptr<const data::ClipSource> valid_;
  CodecClips clips_;
  models::VaeLossOptions loss_;
  int64_t seed_;
  std::string samples_;
  data::ClipStream stream_;
  int64_t last_batch_ = 0;
};

/// As of video models, but for the learning rate, which falls along a cosine to a tenth.
train::TrainOptions codec_training();

struct CodecRun {
  models::VaeConfig model = models::vae_small();
  std::string initial_model;
  ClipsOptions clips;
  CodecClips size;
  models::VaeLossOptions loss;
  train::TrainOptions training = codec_training();

  template <class Visitor>
  void visit(Visitor&& field) {
    field("model", model, "the autoencoder");
    field("initial_model", initial_model, "codec folder to begin with; without any, random weights");
    field("clips", clips, "what is watched");
    field("size", size, "length and size of clips");
    field("loss", loss, "what is made small");
    field("training", training, "the training loop");
  }

  // See lact/train/run.h.
  void check() const;
  void make_paths_absolute();
  void use_copies_in(const std::string& /*folder*/) {}
  std::shared_ptr<train::Task> make_task(const std::string& folder, const std::string& initial);
  train::Plan plan() const;
};

}  // namespace lact::tasks::video
