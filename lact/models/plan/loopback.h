// The wire between two processes of one machine.
#pragma once

#include "lact/models/plan/machine.h"

namespace lact::models::plan {

/// Bytes per second and latency of a TCP connection to this machine itself, with a thread at each end. Takes
/// a tenth of a second. Throws if the system has no loopback interface.
Link loopback();

}  // namespace lact::models::plan
