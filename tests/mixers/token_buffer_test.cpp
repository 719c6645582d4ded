#include "lact/mixers/token_buffer.h"

#include <ATen/ATen.h>

#include "support/gradients.h"

namespace lact {
namespace {

int64_t bytes_held(const at::Tensor& x) { return int64_t(x.storage().nbytes()); }

/// A buffer of tokens that were appended one by one, the oldest dropped beyond `window`; and the same in a
/// plain tensor.
struct Both {
  at::Tensor buffer, plain;
  int64_t dim, window;

  Both(at::IntArrayRef sizes, int64_t token_dim, int64_t width)
      : buffer(at::empty(sizes)), plain(buffer), dim(token_dim), window(width) {}

  void add(int64_t tokens) {
    auto sizes = buffer.sizes().vec();
    sizes[size_t(dim)] = tokens;
    const at::Tensor fresh = at::randn(sizes);
    append_tokens(buffer, fresh, dim);
    plain = at::cat({plain, fresh}, dim);
    const int64_t extra = std::max<int64_t>(0, plain.size(dim) - window);
    drop_tokens(buffer, extra, dim);
    plain = plain.slice(dim, extra).clone();
  }
};

TEST(TokenBuffer, HoldsWhatAConcatenationHolds) {
  at::NoGradGuard no_grad;
  for (const auto& [sizes, dim] : {std::pair<std::vector<int64_t>, int64_t>{{1, 0, 3, 4}, 1},
                                   {{2, 0, 3, 4}, 1},
                                   {{2, 3, 0, 4}, 2},
                                   {{1, 3, 0, 1}, 2}}) {
    // More tokens than the room behind them: what was dropped leaves too little room in front.
    Both both(sizes, dim, sizes[0] == 1 ? kTokenRoom + 100 : 100);
    for (int i = 0; i < 3000; ++i) {
      both.add(i % 700 == 5 ? 300 : 1);
      if (i % 13 == 0) {
        ASSERT_TRUE(both.buffer.equal(both.plain)) << i;
      }
    }
    EXPECT_TRUE(both.buffer.equal(both.plain));
  }
}

TEST(TokenBuffer, AppendsInPlaceAndStaysBounded) {
  at::NoGradGuard no_grad;
  Both both({1, 0, 2, 8}, 1, 64);
  both.add(64);
  int moves = 0;
  for (int i = 0; i < 5000; ++i) {
    const void* memory = both.buffer.storage().data();
    both.add(1);
    moves += memory != both.buffer.storage().data();
    EXPECT_LE(bytes_held(both.buffer), (64 + 1 + kTokenRoom) * 2 * 8 * 4);
  }
  // Into the buffer; what is dropped afterwards leaves room enough at the front.
  EXPECT_EQ(moves, 1);
}

TEST(TokenBuffer, NoOneElseSeesWhatIsAppended) {
  at::NoGradGuard no_grad;
  for (const bool view : {false, true}) {
    Both first({1, 0, 2, 4}, 1, 50);
    for (int i = 0; i < 40; ++i) first.add(1);
    // A copy of the handle, as a copied state has it, or a view of the memory, as a saved one.
    Both second = first;
    if (view) second.buffer = first.buffer.detach();
    for (int i = 0; i < 30; ++i) first.add(1), second.add(1);
    EXPECT_TRUE(first.buffer.equal(first.plain));
    EXPECT_TRUE(second.buffer.equal(second.plain));
    EXPECT_FALSE(first.buffer.equal(second.buffer));
    EXPECT_NE(first.buffer.storage().data(), second.buffer.storage().data());
  }
}

TEST(TokenBuffer, ForeignMemoryIsNotWritten) {
  at::NoGradGuard no_grad;
  std::vector<float> memory(100, 3.f);
  at::Tensor kept = at::from_blob(memory.data(), {1, 10, 1, 10}).slice(1, 4, 6);
  append_tokens(kept, at::ones({1, 1, 1, 10}), 1);
  EXPECT_EQ(kept.size(1), 3);
  EXPECT_TRUE(std::all_of(memory.begin(), memory.end(), [](float x) { return x == 3; }));
}

TEST(TokenBuffer, TakesTheTypeOfTheTokens) {
  at::NoGradGuard no_grad;
  at::Tensor kept = at::ones({1, 3, 2, 4});
  append_tokens(kept, at::ones({1, 1, 2, 4}, at::kBFloat16), 1);
  EXPECT_EQ(kept.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(kept.equal(at::ones({1, 4, 2, 4}, at::kBFloat16)));
}

TEST(TokenBuffer, HoldsNoMemoryWithoutTokens) {
  at::NoGradGuard no_grad;
  at::Tensor kept = at::ones({1, 300, 2, 4}, at::kBFloat16);
  drop_tokens(kept, 300, 1);
  EXPECT_EQ(kept.sizes().vec(), (std::vector<int64_t>{1, 0, 2, 4}));
  EXPECT_EQ(kept.scalar_type(), at::kBFloat16);
  EXPECT_EQ(bytes_held(kept), 0);
}

TEST(TokenBuffer, GradientsFlowThroughAConcatenation) {
  const at::Tensor first = lact::testing::randn({1, 3, 2, 4}), second = lact::testing::randn({1, 2, 2, 4});
  lact::testing::expect_gradients(
      [](const std::vector<at::Tensor>& inputs) {
        at::Tensor kept = inputs[0];
        append_tokens(kept, inputs[1], 1);
        drop_tokens(kept, 2, 1);
        return kept.square();
      },
      {first, second});
}

}  // namespace
}  // namespace lact
