// Videos, chunk after chunk: a chunk begins as noise and is solved to a clean one, which is then written into
// the memory. Classifier-free guidance runs the model a second time on another text (often none), with a
// memory of its own. What is needed to go on is constant in size and can be copied: continue or branch.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "lact/models/video/model.h"
#include "lact/models/video/solver.h"

namespace lact::models {

struct SampleOptions {
  SolverOptions solver;
  double guidance = 5;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("solver", solver, "how noise becomes a clean chunk");
    field("guidance", guidance,
          "how far away from the negative text: negative + guidance (prompt - negative); 1 is without");
  }
  bool operator==(const SampleOptions&) const = default;

  bool guided() const { return guidance != 1; }
  void check() const;
};

/// A video in the making.
struct VideoSampling {
  std::string prompt, negative;
  SampleOptions options;
  int64_t seed = 1;
  std::unique_ptr<VideoState> with_prompt;
  std::unique_ptr<VideoState> with_negative;  ///< null if it was never guided

  /// Finished so far.
  int64_t chunks() const { return with_prompt->chunks; }
  VideoSampling copy() const;
};

/// Before the first chunk. Throws a sentence if the options cannot work.
VideoSampling begin_sampling(VideoModel& model, const SampleOptions& options, int64_t seed);

/// The noise that chunk `index` begins with. It depends on nothing else: a video that is continued later is
/// the one that would have been made at once.
at::Tensor chunk_noise(at::IntArrayRef sizes, int64_t seed, int64_t index);

/// After each step, with the number of steps taken; false gives up the chunk.
using OnStep = std::function<bool(int64_t steps)>;
using Velocity = std::function<at::Tensor(const at::Tensor& sample, double timestep)>;

/// The clean end of the flow; nothing if it was given up.
std::optional<at::Tensor> solve_flow(Solver& solver, const at::Tensor& noise, const Velocity& velocity,
                                     const OnStep& on_step = {});

class VideoSampler {
 public:
  /// `text` of the prompt and `negative` [1, tokens, text_dim]; the latter may be undefined if nothing is
  /// guided.
  VideoSampler(std::shared_ptr<VideoModel> model, VideoSampling sampling, at::Tensor text,
               at::Tensor negative = {});

  /// The next clean chunk [1, channels, chunk_frames, latent_height, latent_width], written into the
  /// memories. Nothing if it was given up: the memories are as before, and the next call begins the same
  /// chunk again.
  std::optional<at::Tensor> next_chunk(const OnStep& on_step = {});

  const VideoSampling& sampling() const { return sampling_; }

 private:
  at::Tensor velocity(const at::Tensor& sample, double timestep) const;

  std::shared_ptr<VideoModel> model_;
  VideoSampling sampling_;
  at::Tensor text_, negative_;
};

}  // namespace lact::models
