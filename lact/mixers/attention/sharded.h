// Attention over a sequence whose tokens are shared out: a rank's queries meet the keys and values that their
// window shows, wherever these are held.
#pragma once

#include "lact/mixers/attention/cache.h"
#include "lact/mixers/sharding.h"

namespace lact::attention {

/// `heads`: this rank's tokens; `window` is of the whole sequence. Returns [B, T, H, D] of this rank's
/// tokens. `kept` are the keys and values right before the sequence, which every rank has; afterwards those
/// from `keep_from` on, which it then has as well.
at::Tensor sharded_attention(const HeadInputs& heads, const ops::Window& window, const Sharding& sharding,
                             KeyValueCache& kept, ops::CacheFormat format, int64_t keep_from);

}  // namespace lact::attention
