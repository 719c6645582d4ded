// What ranks send each other in a step. A ring sends 2 (n - 1) / n of what is summed over n ranks, and
// (n - 1) / n of what is gathered; the first byte takes a tree's depth of latencies.
#include <algorithm>
#include <cmath>

#include "lact/models/plan/prediction.h"

namespace lact::models::plan {

namespace {

constexpr double kBucket = 25e6;  // bytes of gradients that are summed in one call

/// Ranks of one axis, and how far apart in the job they are.
struct Group {
  std::string axis;
  int64_t ranks, span;
};

class Traffic {
 public:
  explicit Traffic(const Machine& machine) : machine_(machine) {}

  void all_reduce(const std::string& name, const Group& group, double payload, double calls) {
    add(name, group, payload, calls, 2 * others(group), 2 * depth(group));
  }
  void gather(const std::string& name, const Group& group, double payload, double calls) {
    add(name, group, payload, calls, others(group), depth(group));
  }
  /// Every rank sends all but its own part of `payload`, which is what one rank has.
  void all_to_all(const std::string& name, const Group& group, double payload, double calls) {
    add(name, group, payload, calls, others(group), 1);
  }

  std::vector<Collective> done() { return std::move(all_); }

 private:
  static double others(const Group& group) { return double(group.ranks - 1) / double(group.ranks); }
  static double depth(const Group& group) { return std::ceil(std::log2(double(group.ranks))); }

  void add(const std::string& name, const Group& group, double payload, double calls, double sent_share,
           double latencies) {
    if (group.ranks < 2 || payload <= 0) return;
    const Link& link = machine_.link(group.span);
    const double sent = sent_share * payload;
    all_.push_back(
        {name, group.axis, calls, payload, sent, sent / link.bandwidth + calls * latencies * link.latency});
  }

  const Machine& machine_;
  std::vector<Collective> all_;
};

void add_data(Traffic& traffic, const Workload& workload, const Arrangement& arrangement,
              double own_batches) {
  const parallel::Mesh& mesh = arrangement.mesh;
  // Every rank saw other tokens, and the whole job has the same weights.
  const Group job = {"data", mesh.ranks(), mesh.ranks()};
  double lent = 0;
  for (const auto& block : workload.blocks) lent += kFloatBytes * double(block.count) * block.parameters;
  if (arrangement.shard != Shard::parameters) lent = 0;
  const double whole = kFloatBytes * workload.parameters - lent, buckets = std::ceil(whole / kBucket);
  traffic.all_reduce("sum of gradients", job, whole, buckets);
  if (arrangement.shard != Shard::none) traffic.gather("gather of new weights", job, whole, buckets);
  const double calls = own_batches * double(workload.num_blocks());
  traffic.gather("weights of blocks on loan", job, 2 * own_batches * lent, 2 * calls);
  traffic.all_reduce("sum of lent weights' gradients", job, own_batches * lent, calls);
}

}  // namespace

std::vector<Collective> traffic_of(const Workload& workload, const Machine& machine,
                                   const Arrangement& arrangement) {
  const parallel::Mesh& mesh = arrangement.mesh;
  const bool trains = workload.sizes.pass == Pass::train;
  const auto own_batches = double(arrangement.micro_batches() / mesh.data);
  const double sequences = own_batches * double(arrangement.batch);
  // The backward pass of each is as large; recomputed blocks ask again.
  const double passes = !trains ? 1 : arrangement.recompute == nn::Recompute::blocks ? 3 : 2;
  Exchanged all;
  for (const auto& block : workload.blocks) {
    const auto count = double(block.count);
    const Exchanged& one = block.exchanged;
    all.by_heads += count * one.by_heads, all.head_calls += count * one.head_calls;
    all.fast_weights += count * one.fast_weights, all.updates += count * one.updates;
    all.keys += count * one.keys, all.key_calls += count * one.key_calls;
    all.states += count * one.states, all.state_calls += count * one.state_calls;
  }
  const Group tensor = {"tensor", mesh.tensor, mesh.tensor};
  const Group context = {"context", mesh.context, mesh.shards()};
  const double bytes = passes * sequences, calls = passes * own_batches;
  const auto heads = double(mesh.tensor), shards = double(mesh.shards());
  Traffic traffic(machine);
  traffic.all_to_all("heads: q, k, v, rates and results", tensor, bytes * all.by_heads / shards,
                     calls * all.head_calls);
  traffic.all_reduce("fast-weight gradients", context, bytes * all.fast_weights / heads, calls * all.updates);
  if (arrangement.share_newton_schulz)
    traffic.gather("shared Newton-Schulz", context, bytes * all.fast_weights / heads, calls * all.updates);
  traffic.gather("keys and values", context, bytes * all.keys / heads, calls * all.key_calls);
  traffic.all_to_all("states of recurrences", context, bytes * all.states / heads, calls * all.state_calls);
  if (trains) add_data(traffic, workload, arrangement, own_batches);
  return traffic.done();
}

}  // namespace lact::models::plan
