// What the camera did to a photo's colours: cameras that choose exposure and white balance anew for every
// photo would else be explained by things in the scene.
//
//   seen = A colours + b       A [3, 3] and b [3] of each photo, learned beside the Gaussians
//
// The mean over all photos stays the identity, so that a picture without a photo has the colours that photos
// have on average.
#pragma once

#include <map>
#include <string>

#include <ATen/core/Tensor.h>

#include "lact/tasks/nvs/splatting/config.h"

namespace lact::tasks::nvs {

class Exposures {
 public:
  explicit Exposures(int64_t photos);

  /// [3, H, W] as the photo's camera would show it; a leaf of the graph is made for the photo.
  at::Tensor seen(const at::Tensor& picture, int64_t photo);

  /// One step of Adam for the photo that was seen last, with the gradient that its leaf holds.
  void step(const SplatRates& rates);

  void save(std::map<std::string, at::Tensor>& tensors) const;
  /// Throws a sentence that names `file`.
  void load(const std::map<std::string, at::Tensor>& tensors, const std::string& file);

 private:
  at::Tensor values_, mean_, square_;  ///< [photos, 3, 4]: A and b
  at::Tensor steps_;                   ///< int64 [photos]
  at::Tensor leaf_;                    ///< [3, 4]
  int64_t photo_ = 0;
};

}  // namespace lact::tasks::nvs
