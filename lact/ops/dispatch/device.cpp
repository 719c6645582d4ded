#include "lact/ops/dispatch/device.h"

#include <atomic>

namespace lact::ops {

namespace {
std::atomic<at::Device> chosen = at::Device(at::kCPU);
}

at::Device compute_device() { return chosen; }
void set_compute_device(at::Device device) { chosen = device; }

}  // namespace lact::ops
