#include "lact/ops/tokens/pieces.h"

#include <ATen/ATen.h>

#include "support/gradients.h"

namespace lact::ops {
namespace {

using lact::testing::difference;
using lact::testing::expect_gradients;
using lact::testing::randn;

TEST(TokenPieces, ComeInTheirOrderFromBothTensors) {
  at::manual_seed(1);
  const at::Tensor first = randn({5, 2, 3}), second = randn({4, 2, 3});
  const std::vector<TokenPiece> pieces = {{TokenPiece::kSecond, {2, 4}},
                                          {TokenPiece::kFirst, {1, 4}},
                                          {TokenPiece::kSecond, {0, 0}},
                                          {TokenPiece::kFirst, {0, 2}}};
  const at::Tensor expected = at::cat({second.narrow(0, 2, 2), first.narrow(0, 1, 3), first.narrow(0, 0, 2)});
  EXPECT_TRUE(join_pieces(first, second, pieces).equal(expected));
  EXPECT_EQ(join_pieces(first, second, {}).sizes(), at::IntArrayRef({0, 2, 3}));
}

TEST(TokenPieces, RowsThatAreTakenTwiceGetBothGradients) {
  at::manual_seed(2);
  const std::vector<TokenPiece> pieces = {
      {TokenPiece::kFirst, {0, 3}}, {TokenPiece::kSecond, {1, 2}}, {TokenPiece::kFirst, {2, 5}}};
  expect_gradients(
      [&](const std::vector<at::Tensor>& in) { return join_pieces(in[0], in[1].transpose(0, 1), pieces); },
      {randn({5, 2}), randn({2, 3})});
}

TEST(TokenPieces, RangesOfOneTensorMayLieAnywhereInMemory) {
  const at::Tensor x = randn({3, 7}).transpose(0, 1);
  EXPECT_TRUE(take_ranges(x, {{4, 6}, {0, 1}}).equal(x.index_select(0, at::tensor({4, 5, 0}))));
}

}  // namespace
}  // namespace lact::ops
