#include "lact/mixers/pieces.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "support/errors.h"

namespace lact {
namespace {

/// The sum of all tokens so far. Knows nothing of several texts.
struct RunningSum : Mixer {
  struct Sum : State {
    at::Tensor sum;
    void visit(StateVisitor& visitor, const std::string& prefix) override {
      visitor.tensor(prefix + "sum", sum, -1);
    }
    std::unique_ptr<State> clone() const override { return std::make_unique<Sum>(*this); }
  };

  std::unique_ptr<State> initial_state(int64_t batch) override {
    auto state = std::make_unique<Sum>();
    state->sum = at::zeros({batch, 1, 2});
    return state;
  }
  at::Tensor advance(const at::Tensor& x, const SequenceLayout&, State& state) override {
    LACT_CHECK(x.max().item<float>() < 1000, "too much");
    auto& sum = dynamic_cast<Sum&>(state).sum;
    const at::Tensor sums = sum + x.cumsum(1);
    sum = sums.narrow(1, x.size(1) - 1, 1);
    return sums;
  }
};

struct Texts {
  RunningSum mixer;
  std::vector<SequenceLayout> layouts;
  std::vector<std::unique_ptr<State>> states;
  std::vector<std::exception_ptr> failures;

  explicit Texts(const std::vector<int64_t>& lengths) : failures(lengths.size()) {
    for (const int64_t length : lengths) {
      layouts.push_back(causal_piece(0, length, 4, 4));
      states.push_back(mixer.initial_state(1));
    }
  }
  std::vector<SequencePiece> pieces(bool guarded) {
    std::vector<SequencePiece> all;
    for (size_t i = 0; i < layouts.size(); ++i) {
      all.push_back({&layouts[i], states[i].get(), guarded ? &failures[i] : nullptr});
    }
    return all;
  }
};

TEST(Pieces, EveryTextHasItsOwnState) {
  for (const bool gradients : {false, true}) {
    at::AutoGradMode mode(gradients);
    Texts texts({2, 1, 3, 2});
    const at::Tensor x = at::randn({1, 8, 2});
    const at::Tensor found = texts.mixer.advance_together(x, texts.pieces(true));
    EXPECT_TRUE(found.narrow(1, 0, 2).equal(x.narrow(1, 0, 2).cumsum(1)));
    EXPECT_TRUE(found.narrow(1, 2, 1).equal(x.narrow(1, 2, 1)));
    EXPECT_TRUE(found.narrow(1, 3, 3).equal(x.narrow(1, 3, 3).cumsum(1)));
    EXPECT_TRUE(found.narrow(1, 6, 2).equal(x.narrow(1, 6, 2).cumsum(1)));
  }
}

TEST(Pieces, OneThatFailsGivesZerosAndIsLeftOutFromThenOn) {
  at::NoGradGuard no_grad;
  Texts texts({2, 2, 2});
  at::Tensor x = at::ones({1, 6, 2});
  x.narrow(1, 2, 2).fill_(5000);
  const at::Tensor found = texts.mixer.advance_together(x, texts.pieces(true));
  EXPECT_FALSE(texts.failures[0] || texts.failures[2]);
  ASSERT_TRUE(texts.failures[1]);
  EXPECT_SENTENCE(std::rethrow_exception(texts.failures[1]), "too much");
  EXPECT_TRUE(found.narrow(1, 2, 2).eq(0).all().item<bool>());
  EXPECT_EQ(found[0][5][0].item<float>(), 2);
  const at::Tensor again = texts.mixer.advance_together(at::ones({1, 6, 2}), texts.pieces(true));
  EXPECT_TRUE(again.narrow(1, 2, 2).eq(0).all().item<bool>());
  EXPECT_EQ(again[0][5][0].item<float>(), 4);
}

TEST(Pieces, WhatNobodyWantsToKnowIsThrown) {
  Texts texts({2, 2});
  EXPECT_SENTENCE(texts.mixer.advance_together(at::full({1, 4, 2}, 5000.f), texts.pieces(false)), "too much");
}

TEST(Pieces, MistakesAreSentences) {
  Texts texts({2, 3});
  EXPECT_SENTENCE(texts.mixer.advance_together(at::ones({1, 4, 2}), texts.pieces(true)),
                  "has shape [1, 4, 2], expected [B, T, M] with the 5 tokens of 2 pieces");
}

}  // namespace
}  // namespace lact
