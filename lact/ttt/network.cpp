#include "lact/ttt/network.h"

#include "lact/ttt/name_table.h"
#include "lact/ttt/passes/passes.h"

namespace lact::ttt {

// networks.inc lists the files of networks/ as LACT_NETWORK(file name); the build writes it.
#define LACT_NETWORK(name) const FastWeightNetwork& name##_network();
#include "lact/ttt/networks.inc"
#undef LACT_NETWORK

namespace {
const NameTable<FastWeightNetwork>& networks() {
  static const NameTable<FastWeightNetwork> rows = {
#define LACT_NETWORK(name) {#name, &name##_network},
#include "lact/ttt/networks.inc"
#undef LACT_NETWORK
  };
  return rows;
}
}  // namespace

std::unique_ptr<fused::FastWeightPasses> FastWeightNetwork::passes(const fused::NetworkSizes& /*sizes*/,
                                                                   bool /*bf16*/) const {
  return nullptr;
}

at::Tensor FastWeightNetwork::features(const Matrices& /*weights*/, const at::Tensor& /*x*/) const {
  return {};
}

const FastWeightNetwork& network(const std::string& name) {
  return find(networks(), "fast-weight network", name);
}
std::vector<std::string> network_names() { return names(networks()); }

}  // namespace lact::ttt
