#include "lact/cli/device.h"

#include <ATen/Context.h>
#include <torch/cuda.h>

#include <optional>

#include "lact/base/error.h"
#include "lact/ops/dispatch/device.h"
#include "lact/parallel/environment.h"

namespace lact::cli {

namespace {

std::optional<c10::Device> parsed(const std::string& name) {
  try {
    const c10::Device device(name);
    if (device.is_cpu() || device.is_cuda() || device.type() == c10::kMPS) return device;
  } catch (const c10::Error&) {
    // no name of a device
  }
  return std::nullopt;
}

int64_t cuda_devices() { return torch::cuda::is_available() ? int64_t(torch::cuda::device_count()) : 0; }

std::string available_devices() {
  const int64_t count = cuda_devices();
  const std::string cuda = count == 1 ? " and cuda:0" : fmt::format(" and cuda:0 to cuda:{}", count - 1);
  const std::string others = (count > 0 ? cuda : "") + (at::hasMPS() ? " and mps" : "");
  return others.empty() ? "cpu only" : "cpu" + others;
}

}  // namespace

c10::Device device_named(const std::string& name) {
  const auto device = parsed(name);
  LACT_CHECK(device, "--device is {}, expected cpu, cuda, cuda:N or mps", name);
  const bool there = device->is_cuda() ? device->index() < cuda_devices() && cuda_devices() > 0
                                       : device->is_cpu() || at::hasMPS();
  LACT_CHECK(there && (device->is_cuda() || device->index() <= 0),
             "--device is {}, but this build of LibTorch has {} on this machine", name, available_devices());
  if (device->is_cpu()) return c10::Device(c10::kCPU);
  return own_device(*device, parallel::environment_of_process().local_rank, cuda_devices());
}

c10::Device own_device(c10::Device device, int64_t local_rank, int64_t devices) {
  if (!device.is_cuda() || device.has_index() || devices == 0) return device;
  return c10::Device(c10::kCUDA, c10::DeviceIndex(local_rank % devices));
}

void needs_processor(const char* verb) {
  const auto device = ops::compute_device();
  LACT_CHECK(device.is_cpu(), "lact {} is about the processor, but --device is {}", verb, device.str());
}

}  // namespace lact::cli
