#include "lact/reproduce/experiment.h"
#include "lact/reproduce/video/figures.h"

namespace lact::reproduce {

std::vector<Experiment> video_experiments(const Plan& plan) {
  return {video::contenders_by_chunk(plan), video::window_sizes(plan), video::longer_clips(plan)};
}

}  // namespace lact::reproduce
