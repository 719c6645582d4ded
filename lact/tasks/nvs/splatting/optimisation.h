// Gaussians that learn to look like the photos of a capture, a photo at a step.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lact/data/views/points.h"
#include "lact/io/safetensors.h"
#include "lact/tasks/nvs/splatting/exposure.h"
#include "lact/tasks/nvs/splatting/strategy.h"

namespace lact::tasks::nvs {

class SplatOptimisation {
 public:
  /// Begins with the points, or with random ones where there are none.
  SplatOptimisation(const SplatConfig& config, int64_t seed, const data::PosedImages& photos,
                    const data::ScenePoints& points);

  /// One photo; `share` of the run is over. Returns the loss.
  double step(double share);

  int64_t steps() const { return steps_; }
  const ops::Gaussians& gaussians() const { return population_.gaussians(); }

  /// What has to be kept to go on with the same bits.
  void save(io::TensorFile& file) const;
  /// Throws a sentence that names `path`.
  void load(const io::TensorFile& file, const std::string& path);

 private:
  size_t photo_of_step();
  double position_rate(double share) const;
  int64_t degree(double share) const;
  /// Without the Gaussians that this step leaves out.
  ops::Gaussians thinned(double share) const;

  SplatConfig config_;
  int64_t seed_;
  std::vector<ops::SplatCamera> cameras_;
  std::vector<at::Tensor> photos_;  ///< [1, 3, H, W]
  double extent_;
  Population population_;
  std::unique_ptr<Strategy> strategy_;
  Exposures exposures_;
  std::vector<size_t> order_;  ///< of the photos, in this round
  int64_t steps_ = 0, round_ = -1;
  double share_before_ = 0;
};

}  // namespace lact::tasks::nvs
