// The fast-weight operation as functions of tensors, lists and JSON: what torch.ops.lact.ttt is made of.
#pragma once

#include "differentiable.h"
#include "lact/ttt/scan.h"
#include "parsed.h"

namespace lact::python {

struct RuleOptions {
  std::string network = "swiglu", loss = "dot_product";
  ttt::UpdateRule update;
  bool recompute = false;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("network", network, "fast-weight network");
    field("loss", loss, "fast-weight loss");
    field("update", update, "how a chunk changes the fast weights");
    field("recompute", recompute, "hidden layers are computed again in the backward pass");
  }
};

inline ttt::FastWeightRule read_rule(const std::string& json) {
  const auto options = parsed<RuleOptions>(json, "rule");
  return {ttt::network(options.network), ttt::loss(options.loss), options.update, options.recompute};
}

/// Rows of three: operation (in the order of ttt::Operation), begin, end.
inline ttt::Schedule read_schedule(at::IntArrayRef rows) {
  LACT_CHECK(rows.size() % 3 == 0, "[ttt] the schedule has {} numbers, expected operation, begin and end",
             rows.size());
  ttt::Schedule schedule;
  for (size_t i = 0; i < rows.size(); i += 3) {
    constexpr auto kOperations = int64_t(enum_names(ttt::Operation{}).size());
    LACT_CHECK(rows[i] >= 0 && rows[i] < kOperations, "[ttt] operation {} in the schedule, expected 0 to {}",
               rows[i], kOperations - 1);
    schedule.push_back({ttt::Operation(rows[i]), {rows[i + 1], rows[i + 2]}});
  }
  return schedule;
}

/// A memory as a list: weights, then what there is of norms, momentum, accumulated weights, anchor and
/// importance, each for the matrices that are written.
class MemoryList {
 public:
  explicit MemoryList(const ttt::FastWeightRule& rule)
      : written_(written_matrices(rule.network, rule.update)) {
    const auto& update = rule.update;
    groups_ = {&ttt::Memory::initial_norms};
    if (update.momentum) groups_.push_back(&ttt::Memory::momentum);
    if (update.norm_placement == ttt::NormPlacement::pre) groups_.push_back(&ttt::Memory::accumulated);
    if (update.elastic.pull > 0) {
      groups_.push_back(&ttt::Memory::anchor);
      groups_.push_back(&ttt::Memory::importance);
    }
  }

  const std::vector<bool>& written() const { return written_; }

  /// One tensor for each matrix that is written, the others undefined.
  ttt::Matrices spread(at::TensorList tensors, const char* name) const {
    const auto expected = size_t(std::count(written_.begin(), written_.end(), true));
    LACT_CHECK(tensors.size() == expected,
               "[ttt] there are {} {}, expected {}: one for each matrix that is written", tensors.size(),
               name, expected);
    ttt::Matrices matrices(written_.size());
    size_t next = 0;
    for (size_t i = 0; i < matrices.size(); ++i) {
      if (written_[i]) matrices[i] = tensors[next++];
    }
    return matrices;
  }

  ttt::Memory unpack(at::TensorList list) const {
    const auto each = size_t(std::count(written_.begin(), written_.end(), true));
    LACT_CHECK(list.size() == written_.size() + groups_.size() * each,
               "[ttt] the memory has {} tensors, expected {}: start_memory makes one from weights",
               list.size(), written_.size() + groups_.size() * each);
    ttt::Memory memory;
    memory.weights = list.slice(0, written_.size()).vec();
    size_t next = written_.size();
    for (const auto group : groups_) {
      memory.*group = spread(list.slice(next, each), "tensors of the memory");
      next += each;
    }
    return memory;
  }

  /// New tensors: an operator returns none that it was given.
  Tensors pack(ttt::Memory& memory, at::TensorList given) const {
    Tensors list;
    const auto add = [&](const at::Tensor& tensor) {
      if (!tensor.defined()) return;
      const auto same = [&](const at::Tensor& other) { return tensor.is_alias_of(other); };
      list.push_back(std::any_of(given.begin(), given.end(), same) ? tensor.clone() : tensor);
    };
    for (const auto& weight : memory.weights) add(weight);
    for (const auto group : groups_) {
      for (const auto& tensor : memory.*group) add(tensor);
    }
    return list;
  }

 private:
  std::vector<bool> written_;
  std::vector<ttt::Matrices ttt::Memory::*> groups_;
};

inline Tensors start_memory(at::TensorList weights, const std::string& rule_json) {
  const ttt::FastWeightRule rule = read_rule(rule_json);
  const MemoryList list(rule);
  LACT_CHECK(weights.size() == list.written().size(),
             "[ttt] there are {} weights, expected {}: one for each matrix", weights.size(),
             list.written().size());
  ttt::Memory memory = ttt::start_memory(rule, weights.vec());
  return list.pack(memory, weights);
}

inline std::tuple<at::Tensor, Tensors> scan(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                            at::TensorList rates, const Optional<at::Tensor>& beta,
                                            at::TensorList memory, at::TensorList initial_weights,
                                            at::IntArrayRef schedule, int64_t first_query, int64_t first_key,
                                            const std::string& rule_json) {
  const ttt::FastWeightRule rule = read_rule(rule_json);
  const MemoryList list(rule);
  for (const auto* x : {&q, &k, &v}) {
    LACT_CHECK(x->dim() == 4, "[ttt] q, k and v are [B, H, T, D], but one of them has shape {}",
               x->sizes().vec());
  }
  ttt::ScanInputs inputs;
  inputs.q = q, inputs.k = k, inputs.v = v;
  inputs.rates = list.spread(rates, "rates");
  inputs.beta = beta.value_or(at::Tensor());
  inputs.first_query = first_query, inputs.first_key = first_key;
  inputs.initial_weights = initial_weights.vec();
  ttt::Memory state = list.unpack(memory);
  const at::Tensor out = ttt::scan(rule, read_schedule(schedule), inputs, state);
  return {out, list.pack(state, memory)};
}

}  // namespace lact::python
