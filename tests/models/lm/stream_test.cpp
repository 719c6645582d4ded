#include "lact/models/lm/stream.h"

#include "lact/base/random.h"
#include "support/errors.h"
#include "support/gradients.h"
#include "support/tiny_lm.h"

namespace lact::models {
namespace {

using lact::testing::difference;
using lact::testing::make_precise_lm;
using lact::testing::random_ids;
using lact::testing::row;
using lact::testing::tiny_lm;
using lact::testing::tiny_lms;

/// Hidden states [T, M] of a text read in pieces of these lengths.
at::Tensor read_in_pieces(LmStream& stream, const at::Tensor& ids, const std::vector<int64_t>& lengths) {
  std::vector<at::Tensor> hidden;
  int64_t begin = 0;
  for (const int64_t length : lengths) {
    stream.read(row(ids, begin, length),
                [&](const at::Tensor& piece, int64_t) { hidden.push_back(piece[0]); });
    begin += length;
  }
  return at::cat(hidden);
}

TEST(LmStreaming, TokenByTokenEqualsTheWholeForEveryRule) {
  at::NoGradGuard no_grad;
  constexpr int64_t kTokens = 35;  // four chunks and a bit
  for (const auto& [name, config] : tiny_lms()) {
    const auto model = make_precise_lm(config);
    const at::Tensor ids = random_ids(1, kTokens);
    const at::Tensor whole = model->forward(ids)[0];
    LmStream stream(model);
    for (int64_t i = 0; i < kTokens; ++i) {
      stream.read(row(ids, i, 1));
      EXPECT_LT(difference(stream.next_logits(), whole[i]), 1e-9) << name << ", token " << i;
    }
    EXPECT_EQ(stream.position(), kTokens);
  }
}

TEST(LmStreaming, PromptsOfAnyLengthInRandomSplits) {
  at::NoGradGuard no_grad;
  Random random(5);
  const auto config = tiny_lm();
  const auto model = make_precise_lm(config);
  const int64_t chunk = config.chunk_size;
  for (const int64_t length : {int64_t(1), chunk - 1, chunk, chunk + 1, 3 * chunk + 7}) {
    const at::Tensor ids = random_ids(1, length);
    const at::Tensor whole = model->hidden(ids)[0];
    for (int repeat = 0; repeat < 4; ++repeat) {
      std::vector<int64_t> lengths;
      for (int64_t left = length; left > 0; left -= lengths.back()) lengths.push_back(1 + random.below(left));
      LmStream stream(model);
      EXPECT_LT(difference(read_in_pieces(stream, ids, lengths), whole), 1e-9) << length << " tokens";
    }
  }
}

TEST(LmStreaming, InterleavedStreamsEqualEachAlone) {
  at::NoGradGuard no_grad;
  const auto model = make_precise_lm(tiny_lm());
  const at::Tensor first = random_ids(1, 30), second = random_ids(1, 30);
  LmStream a(model), b(model), alone(model);
  std::vector<at::Tensor> hidden;
  for (int64_t i = 0; i < 30; i += 3) {
    a.read(row(first, i, 3), [&](const at::Tensor& piece, int64_t) { hidden.push_back(piece[0]); });
    b.read(row(second, i, 3));
  }
  EXPECT_EQ(difference(at::cat(hidden), read_in_pieces(alone, first, std::vector<int64_t>(10, 3))), 0);
  EXPECT_LT(difference(b.next_logits(), model->forward(second)[0][29]), 1e-9);
}

TEST(LmStreaming, RowsOfAPaddedBatchEqualTheirUnpaddedRuns) {
  at::NoGradGuard no_grad;
  for (const auto& [name, config] : tiny_lms()) {
    const auto model = make_precise_lm(config);
    const std::vector<int64_t> lengths = {21, 8, 1, 40};
    at::Tensor ids = random_ids(4, 40);
    std::vector<LmStream> streams, alone;
    for (size_t i = 0; i < lengths.size(); ++i) streams.emplace_back(model), alone.emplace_back(model);
    const at::Tensor hidden = read_padded(streams, ids, lengths);
    for (size_t i = 0; i < lengths.size(); ++i) {
      const at::Tensor own = ids[int64_t(i)].narrow(0, 0, lengths[i]).unsqueeze(0).contiguous();
      EXPECT_LT(difference(hidden[int64_t(i)].narrow(0, 0, lengths[i]), model->hidden(own)[0]), 1e-9) << name;
      EXPECT_EQ(streams[i].position(), lengths[i]);
      // What follows knows nothing of the padding either.
      const int64_t next = 7;
      alone[i].read(row(own, 0, lengths[i]));
      alone[i].read({&next, 1});
      streams[i].read({&next, 1});
      EXPECT_LT(difference(streams[i].next_logits(), alone[i].next_logits()), 1e-12) << name;
    }
  }
}

TEST(LmStreaming, TheStateDoesNotGrow) {
  const auto config = tiny_lm(16, 8);
  const auto model = lact::testing::make_lm(config);
  LmStream stream(model);
  const at::Tensor ids = random_ids(1, 64 * 16);
  stream.read(row(ids, 0, 4 * 16));
  const int64_t after_four = state_bytes(stream.state());
  stream.read(row(ids, 0, 60 * 16));
  EXPECT_EQ(state_bytes(stream.state()), after_four);
}

TEST(LmStreaming, NothingReadIsASentence) {
  LmStream stream(lact::testing::make_lm(tiny_lm()));
  EXPECT_SENTENCE(stream.next_logits(), "nothing was read yet");
}

}  // namespace
}  // namespace lact::models
