// The word behind --device.
#pragma once

#include <c10/core/Device.h>

#include <string>

namespace lact::cli {

/// cpu, cuda, cuda:N or mps; throws a sentence unless it is one that this build of LibTorch has.
c10::Device device_named(const std::string& name);

/// For verbs that measure or check the processor: throws a sentence if --device names another one.
void needs_processor(const char* verb);

}  // namespace lact::cli
