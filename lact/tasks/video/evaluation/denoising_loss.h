// Denoising loss against the chunk's number (the paper's measure for video): does a chunk gain from what was
// seen many chunks before? On made-up clips also where things come back that only a memory can know.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lact/data/clips/clip.h"
#include "lact/data/clips/reappearance.h"
#include "lact/eval/plot.h"
#include "lact/models/vae/codec.h"
#include "lact/models/video/denoising.h"
#include "lact/models/video/text.h"

namespace lact::tasks::video {

/// The velocity of every chunk of problem.clean, given the true ones before it.
using Denoiser = std::function<at::Tensor(const models::DenoisingProblem& problem,
                                          const std::vector<std::string>& captions)>;
Denoiser denoiser_of(std::shared_ptr<models::VideoModel> model, std::shared_ptr<models::TextEncoder> text);

struct NamedDenoiser {
  std::string name;
  Denoiser velocity;
};

struct DenoisingOptions {
  std::vector<double> timesteps{std::begin(models::kEvaluationTimesteps),
                                std::end(models::kEvaluationTimesteps)};
  int64_t clips = 32;
  int64_t batch = 4;
  int64_t seed = 1;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("timesteps", timesteps, "noise levels, above 0 and up to 1000");
    field("clips", clips, "clips that are looked at");
    field("batch", batch, "clips at the same time");
    field("seed", seed, "seed of clips and noise");
  }

  /// Throws one sentence for options that cannot be.
  void check() const;
};

struct DenoisingScore {
  std::string name;
  at::Tensor losses;  ///< float64 [timesteps, clips, chunks]: mean squared errors of the velocity
  /// Errors of the clean clip that one step finds, for each timestep and for all together, in pixels if the
  /// codec keeps them, else in latents. Empty unless the clips are made up.
  std::vector<data::ReappearanceScore> reappearance;

  std::vector<double> by_chunk() const;                  ///< mean over timesteps and clips
  std::vector<double> by_chunk(int64_t timestep) const;  ///< of the timestep with this index
  std::vector<double> error_by_chunk() const;            ///< standard errors of by_chunk() over the clips
  double mean() const;
  const data::ReappearanceScore& all_reappearance() const { return reappearance.back(); }
};

/// The same clips with the same noise for every denoiser, so that differences count. Chunks are of
/// `chunk_frames` latent frames.
DenoisingScore denoising_score(const NamedDenoiser& denoiser, const data::ClipSource& clips,
                               const models::VideoCodec& codec, int64_t chunk_frames,
                               const DenoisingOptions& options,
                               const std::function<void(int64_t done, int64_t total)>& on_progress = {});

/// Against the chunk's number: mean over the timesteps, or at the one with this index.
eval::Plot denoising_plot(const std::vector<DenoisingScore>& scores, const std::vector<double>& timesteps,
                          std::optional<int64_t> timestep = {});

/// Error where things come back, against the chunks that they were away.
eval::Plot reappearance_plot(const std::vector<DenoisingScore>& scores);

}  // namespace lact::tasks::video
