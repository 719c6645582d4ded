// View synthesis models by name; all but the first two and those called tiny have published sizes.
#pragma once

#include "lact/models/nvs/config.h"

namespace lact::models {

NvsConfig nvs_tiny();           ///< 6 blocks of 192: 10 MB of bfloat16 weights
NvsConfig nvs_small();          ///< 6 blocks of 256: trains on a processor
NvsConfig nvs_14_layers();      ///< the paper's ablations: 14 blocks of 768
NvsConfig nvs_312m();           ///< the paper's main model: 24 blocks of 768, 6 d² of state each
NvsConfig nvs_4x();             ///< the same with 12 d² of state per block, about 40% of the weights
NvsConfig nvs_full();           ///< full attention between views, 284M
NvsConfig nvs_perceiver();      ///< 4096 registers, 287M
NvsConfig nvs_mamba2();         ///< 8 heads of 192 in both directions: d² of state per block
NvsConfig nvs_long_lrm();       ///< Long-LRM as published: Gaussians from 8 layers of 256 and 16 of 1024
NvsConfig nvs_long_lrm_tiny();  ///< 8 layers of 64 and 128: trains on a processor

}  // namespace lact::models
