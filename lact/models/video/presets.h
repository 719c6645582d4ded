// Video models by name; the two large ones have the sizes of Wan 2.1.
#pragma once

#include "lact/models/video/config.h"

namespace lact::models {

VideoConfig video_tiny();   ///< 4 blocks of 128 on pixels, 128 tokens per chunk: trains on a processor
VideoConfig video_small();  ///< 8 blocks of 512 on latents of 32 x 32
VideoConfig video_1_3b();   ///< Wan 2.1 1.3B, 3 d² of state per block
VideoConfig video_14b();    ///< Wan 2.1 14B, 0.75 d² of state per block

}  // namespace lact::models
