#include "lact/ops/paths.h"

#include <atomic>

namespace lact::ops {

namespace {
std::atomic<bool> fused = true;
}

bool fused_paths() { return fused; }
void set_fused_paths(bool on) { fused = on; }

}  // namespace lact::ops
