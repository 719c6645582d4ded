// The word behind --device.
#pragma once

#include <c10/core/Device.h>

#include <string>

namespace lact::cli {

/// cpu, cuda, cuda:N or mps; throws a sentence unless it is one that this build of LibTorch has.
c10::Device device_named(const std::string& name);

/// What "cuda" without a number means for a process of several on one machine: each has a GPU of its own, as
/// long as there are any.
c10::Device own_device(c10::Device device, int64_t local_rank, int64_t devices);

/// For verbs that measure or check the processor: throws a sentence if --device names another one.
void needs_processor(const char* verb);

}  // namespace lact::cli
