// Video models by name; the two large ones have the sizes of Wan 2.1.
#pragma once

#include "lact/models/video/config.h"

namespace lact::models {

VideoConfig video_tiny();  ///< 4 blocks of 96 on pixels, 64 tokens per chunk: trains on one core
VideoConfig
video_recall();  ///< 2 blocks of 64 on frames of 16 x 16 pixels: learns within minutes what came back
VideoConfig video_small();  ///< 8 blocks of 512 on latents of 32 x 32
VideoConfig video_1_3b();   ///< Wan 2.1 1.3B, 3 d² of state per block, as in the authors' YAML
VideoConfig video_14b();    ///< Wan 2.1 14B, 0.75 d² of state per block

// What the paper compares the 1.3B model with.
VideoConfig video_1_3b_full();    ///< block-causal attention to all chunks
VideoConfig video_1_3b_window();  ///< attention to the chunk before alone
VideoConfig video_1_3b_mamba2();  ///< Mamba-2 with 12 heads of 128 beside the window

}  // namespace lact::models
