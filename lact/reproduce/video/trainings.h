// The models that figure 6 compares, their trainings and what evaluations say of them. All are of the preset
// video_recall and differ in the mixer; those without fast weights have a wider feed-forward network instead,
// so that all have as many parameters.
#pragma once

#include <string>
#include <vector>

#include "lact/reproduce/plan.h"
#include "lact/reproduce/results.h"
#include "lact/reproduce/section.h"
#include "lact/reproduce/step.h"
#include "lact/reproduce/verdict.h"

namespace lact::reproduce::video {

struct Contender {
  std::string key;   ///< in ids: "lact"
  std::string name;  ///< in charts: "LaCT"
  Words sets;        ///< how its model differs from the preset: "mixer=window"
};

/// LaCT first, then window alone, Mamba-2 and window, full attention.
const std::vector<Contender>& contenders();

/// Clips: a thing is in sight, away for two whole chunks, and back.
inline constexpr int64_t kTrainedChunks = 5, kLongerChunks = 10;
/// The first chunk, from 1, in which something can be back.
inline constexpr int64_t kFirstReturn = 4;

/// Tokens of the chunk before that a noisy chunk sees besides its own: -1 is all of them.
struct Sight {
  int64_t visible;
  std::string name;  ///< "half of the chunk before"
};
const std::vector<Sight>& sights();  ///< growing; the last is all, as in the preset

/// Short trainings of each contender at every rate of the grid; none in smoke.
std::vector<Step> rate_sweep(const Plan& plan);

/// A training with the contender's best rate of the sweep.
Step training(const Plan& plan, const Contender& contender, const Sight& sight, int64_t seed);
std::string training_id(const Contender& contender, const Sight& sight, int64_t seed);

/// The same training, gone on with for a fifth of its steps on clips of kLongerChunks chunks, as the paper
/// does; half as many clips in a batch keep the tokens of a step.
Step longer_training(const Plan& plan, const Contender& contender, int64_t seed);

/// Words that evaluate these models, as "NAME=@ID", on clips of so many chunks.
Words evaluation(const Plan& plan, const std::vector<std::string>& models, int64_t chunks);

/// The grid, and the loss of each contender at each rate.
Table rate_table(const Plan& plan, const Results& results);

/// What `lact video eval --json` says of one model.
struct Reading {
  double parameters = 0;
  std::vector<double> by_chunk;                    ///< denoising loss
  double returning = 0, known = 0, elsewhere = 0;  ///< squared errors of pixels
  double mean_from(int64_t chunk) const;           ///< of the loss, from this chunk on (the first is 1)
};
Reading reading(const options::Json& evaluation, const std::string& name);

/// The readings of a contender, one for each seed.
using Readings = std::vector<Reading>;
Sample loss_from(const std::string& name, const Readings& readings, int64_t chunk);
Sample returning_error(const std::string& name, const Readings& readings);
std::string with_spread(const Sample& sample);  ///< "0.0123 ± 0.0004"
/// Loss against the chunk's number, with the spread of the seeds.
Line loss_line(const std::string& name, const Readings& readings);

/// Parameters of the models and tokens of their trainings, from what the commands said.
std::string equal_terms(const Results& results, const std::vector<std::string>& trainings,
                        const std::vector<Reading>& readings);

}  // namespace lact::reproduce::video
