// The video models that are measured: noise in place of latents and of a text, and how wrong an answer is.
#pragma once

#include <memory>
#include <string>

#include "lact/bench/session.h"
#include "lact/models/video/flow.h"
#include "lact/models/video/model.h"

namespace lact::bench {

struct VideoShape {
  std::string name;  ///< of the preset
  models::VideoConfig config;
  int64_t before = 4;  ///< clean chunks behind which one is denoised or written
  int64_t chunks = 3;  ///< of a clip that is trained on

  /// "video_small 768x4": tokens of a chunk, chunks before it.
  std::string text() const;
  std::string train_text() const;
};

class VideoProblem {
 public:
  explicit VideoProblem(const VideoShape& shape);

  models::VideoModel& model() const { return *model_; }

  /// A state behind the clean chunks before.
  std::unique_ptr<models::VideoState> begin(at::ScalarType type) const;
  at::Tensor denoise(const models::VideoState& state, at::ScalarType type) const;
  /// What a copy of the state remembers after one more chunk.
  std::unique_ptr<models::VideoState> write(const models::VideoState& state, at::ScalarType type) const;
  at::Tensor loss(at::ScalarType type) const;

  /// |difference| / |expected| of the velocity, of what is remembered and of all gradients: the fused path,
  /// or the reference form, in that type, against the reference form in float32.
  double denoise_error(const models::VideoState& state, at::ScalarType type, bool fused) const;
  double write_error(const models::VideoState& state, at::ScalarType type, bool fused) const;
  double gradient_error(at::ScalarType type, bool fused) const;

 private:
  std::shared_ptr<models::VideoModel> model_;
  int64_t before_;
  at::Tensor chunk_, timestep_, text_;
  models::TeacherForcing clip_;
};

/// The model's own operations (lact info) of a noisy or a clean chunk behind `before` clean ones, and of a
/// clip with one noisy copy of each chunk.
double denoise_work(const models::VideoConfig& config, int64_t before);
double write_work(const models::VideoConfig& config, int64_t before);
double clip_work(const models::VideoConfig& config, int64_t chunks);

}  // namespace lact::bench
