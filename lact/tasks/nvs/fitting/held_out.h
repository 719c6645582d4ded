// Photos of one capture that a model is never trained on, and what it makes of them.
#pragma once

#include <cstdint>
#include <vector>

#include "lact/data/views/capture.h"
#include "lact/data/views/frame_choice.h"
#include "lact/io/image_size.h"
#include "lact/models/nvs/model.h"

namespace lact::tasks::nvs {

struct HeldOutOptions {
  io::ImageSize size;
  data::FrameChoice frame = data::FrameChoice::object;
  int64_t every = 8;  ///< every n-th photo, from the first on, is held out
  int64_t views = 0;  ///< of the others, those that the scene is read from; 0: all
};

struct HeldOut {
  std::vector<int64_t> inputs, targets;  ///< photos of the capture that are read, and that are guessed
  data::PosedImages shown, truth;        ///< the same, in the coordinates of the model
};

/// Decodes all of them.
HeldOut held_out_photos(const data::Capture& capture, const HeldOutOptions& options);

/// The truth's views as the model draws them once it has read what is shown, [N, 3, H, W].
at::Tensor render_held_out(models::ViewModel& model, const HeldOut& photos);

}  // namespace lact::tasks::nvs
