#include "lact/mixers/lact/original_ttt.h"

namespace lact::ttt {

LactConfig original_ttt(int64_t num_heads) {
  LactConfig config;
  config.num_heads = num_heads;
  config.network = "ttt_linear";
  config.loss = "squared_error";
  config.update.norm_placement = NormPlacement::none;
  // N(0, 0.02²) of the original at heads of 64 channels.
  config.initial_weights = {.rank = 0, .gain = 0.16};
  // Its keys and queries are rotated and not normed.
  config.prepare_qk = {Preparation::rope};
  config.silu_v = false;
  // Its rate is sigmoid(Linear(x)) / head width, which begins at half of 1 / 64.
  config.base_rate = 0.5 / 64;
  return config;
}

}  // namespace lact::ttt
