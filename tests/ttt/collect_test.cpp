#include "lact/ttt/collect.h"

#include "cases/update_rules.h"
#include "lact/ops/dispatch/paths.h"
#include "lact/ops/norms/norms.h"
#include "support/errors.h"
#include "support/gradients.h"

namespace lact::ttt {
namespace {

using lact::testing::difference;

/// The tokens `range` of the inputs, as a call of their own.
ScanInputs tokens_of(const ScanInputs& inputs, Range range) {
  const auto cut = [&](const at::Tensor& x) { return x.defined() ? x.slice(2, range.begin, range.end) : x; };
  ScanInputs part = {cut(inputs.q),    cut(inputs.k), cut(inputs.v), {},
                     cut(inputs.beta), range.begin,   range.begin};
  for (const auto& rate : inputs.rates) part.rates.push_back(cut(rate));
  return part;
}

/// Two writes by the scan against the same two in uneven pieces. Momentum has an effect from the second on.
void expect_pieces_equal_the_scan(const UpdateRule& update, at::ScalarType type, double tolerance) {
  constexpr int64_t kTokens = 22, kWidth = 8, kHidden = 12;
  const FastWeightRule rule = {network("swiglu"), loss("dot_product"), update};
  const auto numbers = at::TensorOptions(type);
  ScanInputs inputs;
  inputs.q = inputs.k = ops::l2_normalize(at::randn({2, 3, kTokens, kWidth}, numbers), 0);
  inputs.v = at::randn({2, 3, kTokens, kWidth}, numbers);
  Matrices weights;
  for (const auto& shape : rule.network.matrices(kWidth, kHidden, kWidth)) {
    weights.push_back(at::randn({2, 3, shape.out, shape.in}, numbers) / std::sqrt(double(shape.in)));
    inputs.rates.push_back(at::rand({2, 3, kTokens, 1}, numbers) * 0.5 + 0.1);
  }
  if (update.momentum) inputs.beta = at::rand({2, 3, kTokens, 1}, numbers);

  Memory scanned = start_memory(update, weights), collected = start_memory(update, weights);
  const Range writes[] = {{0, 10}, {10, kTokens}};
  scan(rule, {{Operation::update, writes[0]}, {Operation::update, writes[1]}}, inputs, scanned);
  for (const Range& write : writes) {
    Collected pieces;
    for (const Range& piece : {Range{write.begin, write.begin + 3},
                               {write.begin + 3, write.begin + 8},
                               {write.begin + 8, write.end}})
      collect(rule, tokens_of(inputs, piece), collected, pieces);
    write_collected(rule, collected, pieces);
    EXPECT_SENTENCE(write_collected(rule, collected, pieces), "nothing was collected");
  }
  for (size_t i = 0; i < weights.size(); ++i) {
    EXPECT_LT(difference(collected.weights[i], scanned.weights[i]), tolerance) << "matrix " << i;
    if (update.momentum) {
      EXPECT_LT(difference(collected.momentum[i], scanned.momentum[i]), tolerance) << "matrix " << i;
    }
  }
}

TEST(Collect, PiecesOfAWriteEqualTheScanForEveryRule) {
  at::manual_seed(1);
  for (const auto& [name, update] : cases::rules()) {
    SCOPED_TRACE(name);
    expect_pieces_equal_the_scan(update, at::kDouble, 1e-11);
  }
}

TEST(Collect, FusedPiecesEqualTheFusedScan) {
  ASSERT_TRUE(ops::fused_paths());
  at::manual_seed(2);
  for (const auto& [name, update] : cases::rules()) {
    SCOPED_TRACE(name);
    expect_pieces_equal_the_scan(update, at::kFloat, 1e-4);
  }
}

}  // namespace
}  // namespace lact::ttt
