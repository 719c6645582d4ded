#include "lact/reproduce/text/contender.h"

#include <algorithm>

namespace lact::reproduce::text {

namespace {

/// Of the fast weights, where nothing else is said. States are to each other as in the paper's models of 760M
/// parameters: LaCT 1.5 d², GLA and linear fast weights 0.25 d², DeltaNet less (there d² / 12, here d² / 8).
constexpr int kHeads = 2;

Words set(const std::vector<std::string>& assignments) {
  Words words;
  for (const auto& assignment : assignments) {
    words.push_back("--set");
    words.push_back(assignment);
  }
  return words;
}

}  // namespace

Contender window_only() { return {"window", "window only", set({"mixer=window"}), 0.5}; }

Contender full_attention() { return {"full", "full attention", set({"mixer=full"}), 0.6}; }

Contender gla() { return {"gla", "GLA + window", set({"mixer=gla", "layer.gla.num_heads=4"}), 0.8}; }

Contender deltanet() {
  return {"deltanet", "DeltaNet + window", set({"mixer=deltanet", "layer.deltanet.num_heads=8"}), 0.8};
}

Contender wide_gla() {
  return {"gla_1", "GLA + window, one head", set({"mixer=gla", "layer.gla.num_heads=1"}), 0.8};
}

Contender wide_deltanet() {
  return {"deltanet_1", "DeltaNet + window, one head", set({"mixer=deltanet", "layer.deltanet.num_heads=1"}),
          0.8};
}

Contender lact_gd() {
  return {"gd", "LaCT, gradient descent",
          set({"layer.memory.update.muon=false", "layer.memory.update.momentum=false"}), 0.8};
}

Contender lact_momentum() {
  return {"momentum", "LaCT, momentum", set({"layer.memory.update.muon=false"}), 0.8};
}

Contender lact_muon() { return {"muon", "LaCT, Muon", {}, 1}; }

Contender lact_heads(int num_heads) {
  if (num_heads == kHeads) return lact_muon();
  const std::string count = std::to_string(num_heads);
  return {"muon_heads" + count, "LaCT, Muon, " + count + (num_heads == 1 ? " head" : " heads"),
          set({"layer.memory.num_heads=" + count}), 1};
}

Contender linear_muon() {
  return {"linear_muon", "linear fast weight, Muon",
          set({"layer.memory.network=linear", "layer.memory.num_heads=1"}), 0.7};
}

Contender linear_gd() {
  return {"linear_gd", "linear fast weight, gradient descent",
          set({"layer.memory.network=linear", "layer.memory.num_heads=4", "layer.memory.update.muon=false",
               "layer.memory.update.momentum=false"}),
          0.6};
}

Contender lact_variant(const std::string& id, const std::string& name, const Words& update_fields,
                       double slowness) {
  Words assignments;
  for (const auto& field : update_fields) assignments.push_back("layer.memory.update." + field);
  return {"muon_" + id, name, set(assignments), slowness};
}

Setting::Setting(const Plan& plan)
    : steps(plan.by_budget({2, 1000, 4000, 6000})),
      sweep_steps(plan.by_budget({0, 300, 1000, 1500})),
      seeds(plan.smoke() ? 1 : plan.seeds),
      batch(plan.by_budget({1, 8, 8, 8})),
      length(plan.by_budget({64, 384, 384, 384})),
      window(plan.by_budget({16, 32, 32, 32})),
      valid_length(length),
      documents(plan.by_budget({12, 32, 64, 64})) {
  if (plan.smoke()) {
    rates = {"0.01"};
  } else {
    rates = {"0.006", "0.012", "0.024"};
  }
}

Words Setting::text() const { return {"--names", "64", "--things", "32", "--facts", "48"}; }

Words Setting::model() const {
  const std::string tokens = std::to_string(window);
  // The base rate is that of gradient descent and momentum; to Muon its scale is nothing.
  return set({"window_size=" + tokens, "chunk_size=" + tokens, "layer.memory.base_rate=0.3",
              "layer.memory.num_heads=" + std::to_string(kHeads)});
}

}  // namespace lact::reproduce::text
