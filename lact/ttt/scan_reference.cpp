#include <ATen/ATen.h>

#include <algorithm>
#include <map>

#include "lact/ops/tokens/assemble.h"
#include "lact/ttt/add_up.h"
#include "lact/ttt/scan.h"

namespace lact::ttt::reference {

namespace {

/// Empty ranges, whose tokens other ranks have, come before what begins at the same place.
bool by_place(Range a, Range b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); }

using ChunkMap = std::map<Range, at::Tensor, bool (*)(Range, Range)>;

/// The ranges of tokens that steps use, cut out of all tokens at once: a slice of its own for each chunk
/// would give a gradient as long as the sequence for each.
class Chunks {
 public:
  Chunks(const Schedule& schedule, bool (*uses)(Operation), int64_t first) : first_(first) {
    for (const auto& [operation, tokens] : schedule) {
      if (uses(operation)) ranges_.push_back(tokens);
    }
    std::sort(ranges_.begin(), ranges_.end(), by_place);
  }

  /// The tokens of each range. What no step uses lies between them.
  ChunkMap of(const at::Tensor& tokens) const {
    ChunkMap chunks(by_place);
    if (!tokens.defined()) return chunks;
    std::vector<int64_t> lengths;
    int64_t end = first_;
    for (const Range range : ranges_) {
      lengths.push_back(range.begin - end), lengths.push_back(range.size());
      end = range.end;
    }
    lengths.push_back(first_ + tokens.size(-2) - end);
    const auto parts = at::split_with_sizes(tokens, lengths, -2);
    for (size_t i = 0; i < ranges_.size(); ++i) chunks[ranges_[i]] = parts[2 * i + 1];
    return chunks;
  }

 private:
  std::vector<Range> ranges_;
  int64_t first_;
};

/// Undefined for a tensor that is.
at::Tensor chunk_at(const ChunkMap& chunks, Range tokens) {
  const auto found = chunks.find(tokens);
  return found == chunks.end() ? at::Tensor() : found->second;
}

}  // namespace

at::Tensor scan(const FastWeightRule& rule, const Schedule& schedule, const ScanInputs& inputs,
                Memory& memory) {
  const Chunks written(schedule, updates, inputs.first_key), read(schedule, applies, inputs.first_query);
  const auto all_q = read.of(inputs.q), all_k = written.of(inputs.k), all_v = written.of(inputs.v),
             all_beta = written.of(inputs.beta);
  std::vector<ChunkMap> all_rates;
  for (const auto& rate : inputs.rates) all_rates.push_back(written.of(rate));

  const auto update = [&](Range tokens) {
    Matrices rates;
    for (const auto& rate : all_rates) rates.push_back(chunk_at(rate, tokens));
    const at::Tensor k = chunk_at(all_k, tokens), v = chunk_at(all_v, tokens),
                     beta = chunk_at(all_beta, tokens);
    for (int64_t i = 0; i < rule.update.steps; ++i) {
      const at::Tensor prediction =
          rule.loss.needs_prediction() ? rule.network.apply(memory.weights, k) : at::Tensor();
      const at::Tensor negative_gradient = rule.loss.negative_gradient(prediction, v);
      const Direction whole =
          add_up({rule.network.descent(memory.weights, k, negative_gradient, rates), beta}, inputs.context);
      write(memory, rule.update, whole.matrices, whole.beta, inputs.context);
    }
  };

  std::vector<std::pair<Range, at::Tensor>> outputs;
  const auto apply = [&](Range tokens) {
    outputs.emplace_back(tokens, rule.network.apply(memory.weights, chunk_at(all_q, tokens)));
  };

  for (const auto& [operation, tokens] : schedule) {
    switch (operation) {
      case Operation::update_then_apply:
        update(tokens), apply(tokens);
        break;
      case Operation::apply_then_update:
        apply(tokens), update(tokens);
        break;
      case Operation::update:
        update(tokens);
        break;
      case Operation::apply:
        apply(tokens);
        break;
      case Operation::restart:
        memory = start_memory(rule, inputs.initial_weights);
        break;
    }
  }
  const int64_t dim = inputs.q.dim() - 2;
  const Range queries = {inputs.first_query, inputs.first_query + inputs.q.size(dim)};
  return ops::assemble(std::move(outputs), queries, dim, inputs.v.narrow(dim, 0, 0));
}

}  // namespace lact::ttt::reference
