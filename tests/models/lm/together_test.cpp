#include <set>

#include "lact/models/lm/stream.h"
#include "support/errors.h"
#include "support/gradients.h"
#include "support/tiny_lm.h"

namespace lact::models {
namespace {

using lact::testing::difference;
using lact::testing::make_lm;
using lact::testing::make_precise_lm;
using lact::testing::random_ids;
using lact::testing::row;
using lact::testing::tiny_lm;
using lact::testing::tiny_lms;

/// Texts at different positions: each reads pieces of its own lengths, together with the others and alone.
void expect_each_as_alone(const std::shared_ptr<LanguageModel>& model, double tolerance,
                          const std::string& name) {
  at::NoGradGuard no_grad;
  const std::vector<int64_t> begun = {0, 3, 8, 21};
  std::vector<LmStream> together, alone;
  std::vector<at::Tensor> texts;
  std::vector<int64_t> read = begun;
  for (const int64_t length : begun) {
    texts.push_back(random_ids(1, 60));
    together.emplace_back(model), alone.emplace_back(model);
    together.back().read(row(texts.back(), 0, length));
    alone.back().read(row(texts.back(), 0, length));
  }
  for (int64_t step = 0; step < 12; ++step) {
    std::vector<StreamPiece> pieces;
    for (size_t i = 0; i < begun.size(); ++i) {
      const int64_t count = std::min(1 + (step * int64_t(i)) % 3, together[i].left_in_chunk());
      pieces.push_back({&together[i], row(texts[i], read[i], count)});
    }
    read_together(pieces);
    for (size_t i = 0; i < begun.size(); ++i) {
      ASSERT_FALSE(pieces[i].failure) << name;
      const auto count = int64_t(pieces[i].tokens.size());
      at::Tensor expected;
      alone[i].read(row(texts[i], read[i], count),
                    [&](const at::Tensor& hidden, int64_t) { expected = hidden[0]; });
      EXPECT_LE(difference(pieces[i].hidden, expected), tolerance) << name << ", text " << i << ", " << step;
      read[i] += count;
      EXPECT_EQ(together[i].position(), read[i]);
    }
  }
  for (size_t i = 0; i < begun.size(); ++i) {
    EXPECT_LE(difference(together[i].next_logits(), alone[i].next_logits()), tolerance) << name;
    EXPECT_EQ(together[i].memory().history.id(), alone[i].memory().history.id());
  }
}

TEST(LmTogether, EveryTextReadsAsIfItWereAlone) {
  for (const auto& [name, config] : tiny_lms()) expect_each_as_alone(make_precise_lm(config), 1e-12, name);
}

// The products of few tokens add up a token's numbers in the same order whoever else is there.
TEST(LmTogether, NumbersOfFloat32AreTheSameBits) {
  for (const auto& [name, config] : tiny_lms()) expect_each_as_alone(make_lm(config), 0, name);
}

TEST(LmTogether, NumbersOfCompressedWeightsAreTheSameBits) {
  for (const auto format : {ops::WeightFormat::bf16, ops::WeightFormat::int8}) {
    const auto model = make_lm(tiny_lm());
    model->compress_weights(format);
    model->set_compute_type(at::kBFloat16);
    expect_each_as_alone(model, 0, std::string(options::word_of(format)));
  }
}

TEST(LmTogether, WhatFailsWithOneTextIsItsOwnAffair) {
  const auto model = make_lm(tiny_lm());
  const at::Tensor ids = random_ids(1, 20);
  std::vector<LmStream> streams;
  for (int i = 0; i < 3; ++i) {
    streams.emplace_back(model);
    streams.back().read(row(ids, 0, 10));
  }
  LmStream alone = streams[0].fork();
  streams[1].state().position = 11;  // a token that its mixers have not seen
  std::vector<StreamPiece> pieces;
  for (auto& stream : streams) pieces.push_back({&stream, row(ids, 10, 1)});
  read_together(pieces);
  EXPECT_TRUE(pieces[1].failure);
  EXPECT_SENTENCE(std::rethrow_exception(pieces[1].failure), "the state ends at token 10");
  alone.read(row(ids, 10, 1));
  for (const size_t i : {0, 2}) {
    EXPECT_FALSE(pieces[i].failure);
    EXPECT_TRUE(streams[i].next_logits().equal(alone.next_logits()));
  }
}

TEST(LmTogether, MistakesAreSentences) {
  const auto model = make_lm(tiny_lm()), other = make_lm(tiny_lm());
  const at::Tensor ids = random_ids(1, 20);
  LmStream one(model), two(other);
  const auto read = [](std::vector<StreamPiece> pieces) { read_together(pieces); };
  EXPECT_SENTENCE(read({{&one, row(ids, 0, 9)}}), "9 tokens of a text, expected 1 to 8");
  EXPECT_SENTENCE(read({{&one, row(ids, 0, 0)}}), "0 tokens of a text");
  EXPECT_SENTENCE(read({{&one, row(ids, 0, 1)}, {&two, row(ids, 0, 1)}}), "one model for all");
}

}  // namespace
}  // namespace lact::models
