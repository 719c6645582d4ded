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

// What the paper compares with, of the same sizes: heads are those of its table of baselines, for 760M with
// the same head widths.
LmConfig lm_760m_full();      ///< the Transformer
LmConfig lm_760m_window();    ///< attention to 2048 tokens alone
LmConfig lm_760m_gla();       ///< 4 heads of 384: 384 d of state per block
LmConfig lm_760m_deltanet();  ///< 12 heads of 128: 128 d
LmConfig lm_3b_full();        ///< sizes of lm_3b_paper
LmConfig lm_3b_window();      ///< attention to 4096 tokens alone
LmConfig lm_3b_gla();         ///< 8 heads of 384: 384 d
LmConfig lm_3b_deltanet();    ///< 24 heads of 128: 128 d

}  // namespace lact::models
