// LibTorch's distributed engine as the transport of a group.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "lact/parallel/group.h"

namespace c10d {
class Store;
}

namespace lact::parallel {

/// What the groups of a rank share: the store where they meet, and the names of ranks in the job.
struct Rendezvous {
  c10::intrusive_ptr<c10d::Store> store;
  int64_t rank = 0;    ///< in the job
  std::string device;  ///< host name or address of the interface that connections use; "" asks the system
  std::chrono::milliseconds timeout;
};

/// A group of the job's ranks `members`, of which this is one; `name` differs from that of other groups.
std::shared_ptr<Transport> connect(const Rendezvous& rendezvous, const std::string& name,
                                   const std::vector<int64_t>& members);

}  // namespace lact::parallel
