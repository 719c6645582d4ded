#include "lact/models/plan/machine.h"

namespace lact::models::plan {

namespace {

// Assumed for kernels as they are published, none fitted to a figure of the paper: large bf16 products reach
// about 70% of an A100's dense peak and 60% of an H100's, whose memory feeds its faster units less well;
// FlashAttention-2 reports 50-73% forward and up to 63% backward on an A100, FlashAttention-3 up to 75% on an
// H100 for large heads; the paper reports up to 70% for large-chunk updates on an A100. Newton-Schulz is many
// medium products one after the other; a recurrence works in chunks of 64 tokens.
constexpr Shares kA100Shares = {
    .products = 0.7, .scan = 0.6, .newton_schulz = 0.5, .attention = 0.5, .recurrence = 0.25};
constexpr Shares kH100Shares = {
    .products = 0.6, .scan = 0.5, .newton_schulz = 0.4, .attention = 0.5, .recurrence = 0.2};
constexpr double kStreamShare = 0.8, kLinkShare = 0.75;
constexpr double kTera = 1e12, kGiga = 1e9, kMicro = 1e-6;

std::vector<std::string> assumptions(const std::string& peak) {
  return {peak + ", data sheet",
          "achieved shares of the peak are assumed, from published kernels: see the column 'share'",
          "elementwise steps: 80% of the memory's bandwidth, unfused; no time between kernels",
          "network: 75% of the wires; tree latencies of 10 us inside a node, 20 us between nodes",
          "sums of gradients hide behind 90% of the backward pass",
          "activations as this program's recompute setting keeps them, with fused attention and scan"};
}

Machine gpu(const Shares& shares, double bandwidth, double nvlink, double network) {
  Machine machine;
  machine.f32_shares = machine.bf16_shares = shares;
  machine.stream = kStreamShare * bandwidth;
  machine.ranks_per_node = 8;
  machine.inside = {kLinkShare * nvlink, 10 * kMicro};
  machine.between = {kLinkShare * network, 20 * kMicro};
  machine.overlap = 0.9;
  return machine;
}

}  // namespace

double Shares::of(Kind kind) const {
  switch (kind) {
    case Kind::products:
      return products;
    case Kind::scan:
      return scan;
    case Kind::newton_schulz:
      return newton_schulz;
    case Kind::attention:
      return attention;
    case Kind::recurrence:
      return recurrence;
  }
  return 1;
}

// NVLink 3: 300 GB/s each way; one 200 Gb/s adapter for each.
Machine a100(bool large) {
  Machine machine = gpu(kA100Shares, large ? 2.039 * kTera : 1.555 * kTera, 300 * kGiga, 25 * kGiga);
  machine.name = large ? "A100 80 GB" : "A100 40 GB";
  machine.f32 = 156 * kTera;  // as TF32
  machine.bf16 = 312 * kTera;
  machine.memory = (large ? 80 : 40) * kGiga;
  machine.assumptions =
      assumptions("A100 SXM: 312 TFLOP/s bf16 (156 TF32), " + std::string(large ? "2.04" : "1.56") +
                  " TB/s, NVLink 300 GB/s each way, 200 Gb/s per rank between nodes");
  return machine;
}

// NVLink 4: 450 GB/s each way; one 400 Gb/s adapter for each.
Machine h100() {
  Machine machine = gpu(kH100Shares, 3.35 * kTera, 450 * kGiga, 50 * kGiga);
  machine.name = "H100 80 GB";
  machine.f32 = 494 * kTera;  // as TF32
  machine.bf16 = 989 * kTera;
  machine.memory = 80 * kGiga;
  machine.assumptions = assumptions(
      "H100 SXM: 989 TFLOP/s bf16 (494 TF32), 3.35 TB/s, NVLink 450 GB/s each way, 400 Gb/s per rank between "
      "nodes");
  return machine;
}

}  // namespace lact::models::plan
