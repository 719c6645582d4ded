// What one rank runs on, for the prediction of a step: its speed, its memory, and the wires to the others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lact::models::plan {

/// Kinds of work that reach different shares of a machine's peak.
enum class Kind { products, scan, newton_schulz, attention, recurrence };

/// Achieved operations per second / peak of the compute type.
struct Shares {
  double products = 1;  ///< linear layers
  double scan = 1;      ///< tokens through the fast weights
  double newton_schulz = 1;
  double attention = 1;
  double recurrence = 1;

  double of(Kind kind) const;
};

/// What one rank can send while it receives as much.
struct Link {
  double bandwidth = 0;  ///< bytes per second
  double latency = 0;    ///< seconds until the first byte arrives
};

struct Machine {
  std::string name;
  double f32 = 0, bf16 = 0;  ///< operations per second, two per multiply-add
  Shares f32_shares, bf16_shares;
  double stream = 0;    ///< bytes per second that elementwise steps reach
  double memory = 0;    ///< bytes
  double overhead = 0;  ///< seconds that a block costs forward and backward, however few its tokens are
  int64_t ranks_per_node = 1;
  Link inside, between;  ///< of ranks in one node, and of different ones
  double overlap = 0;    ///< share of the backward pass that the sums of gradients hide behind
  std::vector<std::string> assumptions;  ///< where the figures come from, a sentence each

  double peak(bool is_bf16) const { return is_bf16 ? bf16 : f32; }
  const Shares& shares(bool is_bf16) const { return is_bf16 ? bf16_shares : f32_shares; }
  /// Of a group whose ranks lie within `span` neighbours of the job.
  const Link& link(int64_t span) const { return span <= ranks_per_node ? inside : between; }
};

/// NVIDIA A100 SXM, 8 in a node: 40 GB, or 80 GB of faster memory.
Machine a100(bool large = true);
/// NVIDIA H100 SXM, 8 in a node.
Machine h100();

}  // namespace lact::models::plan
