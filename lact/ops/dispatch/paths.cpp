#include "lact/ops/dispatch/paths.h"

#include <atomic>

namespace lact::ops {

namespace {
std::atomic<bool> fused_on = true;
}

bool fused_paths() { return fused_on; }
void set_fused_paths(bool on) { fused_on = on; }

}  // namespace lact::ops
