// Language models by name. Widths, depths, chunks and windows of the two large ones are the paper's.
#pragma once

#include "lact/models/lm/config.h"

namespace lact::models {

LmConfig lm_recall();  ///< 1 block of 64: learns the built-in recall text in minutes
LmConfig lm_tiny();    ///< 6 blocks of 384, chunks of 512 bytes: trains on a processor
LmConfig lm_small();   ///< 12 blocks of 768
LmConfig lm_760m();    ///< the paper's 760M: 24 blocks of 1536
LmConfig lm_3b();      ///< the paper's 3B: 25 blocks of 3072, chunks of 4096

}  // namespace lact::models
