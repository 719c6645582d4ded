#include <ATen/ATen.h>

#include "lact/ops/tokens/assemble.h"
#include "lact/ttt/scan_forms.h"

namespace lact::ttt::linear_attention {

namespace {

/// Tokens that are written by one product. A chunk of so many is one of its own.
constexpr int64_t kBlock = 256;

/// Steps whose reads and writes are done together: each read sees what its block has written before it.
struct Block {
  std::vector<Range> reads, writes;
  std::vector<int64_t> seen;  ///< of each read: tokens that its block has written before
  int64_t written = 0;

  void read(Range tokens) { reads.push_back(tokens), seen.push_back(written); }
  void write(Range tokens) { writes.push_back(tokens), written += tokens.size(); }
};

std::vector<Block> blocks_of(const Schedule& schedule) {
  std::vector<Block> blocks(1);
  for (const auto& [operation, tokens] : schedule) {
    if (blocks.back().written >= kBlock) blocks.emplace_back();
    Block& block = blocks.back();
    if (operation == Operation::apply_then_update) block.read(tokens);
    if (updates(operation)) block.write(tokens);
    if (applies(operation) && operation != Operation::apply_then_update) block.read(tokens);
  }
  return blocks;
}

at::Tensor gather(const at::Tensor& tokens, const std::vector<Range>& ranges, int64_t first) {
  std::vector<at::Tensor> parts;
  Range joined = ranges.front();
  for (const auto& range : ranges) {
    if (range.begin != joined.end && range.begin != joined.begin) {
      parts.push_back(tokens.narrow(2, joined.begin - first, joined.size()));
      joined = range;
    }
    joined.end = range.end;
  }
  parts.push_back(tokens.narrow(2, joined.begin - first, joined.size()));
  return parts.size() == 1 ? parts.front() : at::cat(parts, 2);
}

/// bool [reads, writes]: true where the token is not seen.
at::Tensor unseen(const Block& block, at::Device device) {
  std::vector<at::Tensor> rows;
  const at::Tensor place = at::arange(block.written, at::kLong);
  for (size_t i = 0; i < block.reads.size(); ++i) {
    rows.push_back(place.ge(block.seen[i]).expand({block.reads[i].size(), block.written}));
  }
  return at::cat(rows).to(device);
}

}  // namespace

bool fits(const FastWeightRule& rule, const Schedule& schedule) {
  const UpdateRule& update = rule.update;
  const bool exact = &rule.network == &network("linear") && rule.loss.negative_gradient_is_value() &&
                     !update.momentum && !update.muon && update.norm_placement == NormPlacement::none &&
                     update.elastic.pull == 0;
  if (!exact) return false;
  int64_t tokens = 0, writes = 0;
  for (const auto& step : schedule) {
    if (!updates(step.operation)) continue;
    tokens += step.tokens.size(), ++writes;
  }
  return writes > 1 && tokens < writes * kBlock;
}

at::Tensor scan(const FastWeightRule& rule, const Schedule& schedule, const ScanInputs& inputs,
                Memory& memory) {
  const auto type = inputs.k.scalar_type();
  // The gradient is the same at every step of a chunk.
  const double factor = double(rule.update.steps) * (rule.update.ascent ? -1 : 1);
  at::Tensor& weight = memory.weights.front();
  std::vector<std::pair<Range, at::Tensor>> outputs;
  for (const auto& block : blocks_of(schedule)) {
    at::Tensor k, v;
    if (block.written > 0) {
      const at::Tensor rate = gather(inputs.rates.front(), block.writes, inputs.first_key) * factor;
      k = (gather(inputs.k, block.writes, inputs.first_key) * rate).to(type);
      v = gather(inputs.v, block.writes, inputs.first_key);
    }
    if (!block.reads.empty()) {
      const at::Tensor q = gather(inputs.q, block.reads, inputs.first_query);
      at::Tensor read = at::matmul(q, weight.to(type).transpose(2, 3));
      const bool sees = std::any_of(block.seen.begin(), block.seen.end(), [](int64_t n) { return n > 0; });
      if (sees) {
        const at::Tensor scores = at::matmul(q, k.transpose(2, 3)).masked_fill(unseen(block, q.device()), 0);
        read = read + at::matmul(scores, v);
      }
      std::vector<int64_t> lengths;
      for (const auto& range : block.reads) lengths.push_back(range.size());
      const auto parts = at::split_with_sizes(read, lengths, 2);
      for (size_t i = 0; i < parts.size(); ++i) outputs.emplace_back(block.reads[i], parts[i]);
    }
    if (block.written > 0) {
      weight = weight + at::matmul(v.transpose(2, 3), k).to(weight.scalar_type());
    }
  }
  const Range queries = {inputs.first_query, inputs.first_query + inputs.q.size(2)};
  return ops::assemble(std::move(outputs), queries, 2, inputs.v.narrow(2, 0, 0));
}

}  // namespace lact::ttt::linear_attention
