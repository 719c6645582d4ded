// The choice between an operation's fast path and its reference form.
#pragma once

namespace lact::ops {

/// Whether operations may use their fast paths; true unless switched off (--reference).
bool fused_paths();
void set_fused_paths(bool on);

}  // namespace lact::ops
