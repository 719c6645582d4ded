// Language models by name. The large ones have the sizes of the paper and of the authors' published configs.
#pragma once

#include "lact/models/lm/config.h"

namespace lact::models {

LmConfig lm_recall();    ///< 1 block of 64: learns the built-in recall text in minutes
LmConfig lm_tiny();      ///< 6 blocks of 384, chunks of 512 bytes: trains on a processor
LmConfig lm_small();     ///< 12 blocks of 768
LmConfig lm_760m();      ///< the paper's 760M and the authors' config: 24 blocks of 1536, 24 heads
LmConfig lm_3b_paper();  ///< 25 blocks of 3072, chunks and windows of 4096
LmConfig lm_3b_code();   ///< the authors' config: 24 blocks of 3072, chunks and windows of 2048

}  // namespace lact::models
