#include "lact/models/lm/folder.h"
#include "lact/models/lm/memory_file.h"
#include "support/errors.h"
#include "support/gradients.h"
#include "support/temporary_folder.h"
#include "support/tiny_lm.h"

namespace lact::models {
namespace {

using lact::testing::difference;
using lact::testing::make_lm;
using lact::testing::make_precise_lm;
using lact::testing::random_ids;
using lact::testing::row;
using lact::testing::TemporaryFolder;
using lact::testing::tiny_lm;
using lact::testing::tiny_lms;

void read_one_by_one(LmStream& stream, const at::Tensor& ids, int64_t begin, int64_t count) {
  for (int64_t i = begin; i < begin + count; ++i) stream.read(row(ids, i, 1));
}

/// Both go on through the next chunk boundaries with the same tokens.
void expect_same_text(LmStream& found, LmStream& expected, double tolerance, const std::string& name) {
  EXPECT_EQ(found.position(), expected.position()) << name;
  EXPECT_EQ(found.memory().history.id(), expected.memory().history.id()) << name;
  EXPECT_LE(difference(found.next_logits(), expected.next_logits()), tolerance) << name;
  const at::Tensor more = random_ids(1, 19);
  for (auto* stream : {&found, &expected}) read_one_by_one(*stream, more, 0, 19);
  EXPECT_LE(difference(found.next_logits(), expected.next_logits()), tolerance) << name;
}

// Chunks of 8 and windows of 5 and 16: what was forgotten may have pushed keys out of the window.
TEST(LmRollBack, ForgottenTokensLeaveNoTraceWithAnyMixer) {
  for (const auto& [name, config] : tiny_lms()) {
    const auto model = make_precise_lm(config);
    for (const int64_t kept : {0, 1, 7, 8, 11, 16, 21}) {
      const at::Tensor ids = random_ids(1, 40);
      LmStream never(model), rolled(model);
      read_one_by_one(never, ids, 0, kept);
      read_one_by_one(rolled, ids, 0, kept);
      const int64_t most = never.left_in_chunk() - 1;
      for (const int64_t forgotten : {int64_t(1), most}) {
        if (forgotten > most) continue;  // the next token ends the chunk
        read_one_by_one(rolled, random_ids(1, 8), 0, forgotten);
        EXPECT_GE(rolled.forgettable(), forgotten) << name;
        rolled.roll_back(forgotten);
      }
      if (kept == 0) {
        EXPECT_EQ(rolled.position(), 0);
        const int64_t first = 9;
        for (auto* stream : {&never, &rolled}) stream->read({&first, 1});
      }
      expect_same_text(rolled, never, 1e-12, name + ", " + std::to_string(kept) + " kept");
    }
  }
}

TEST(LmRollBack, IsExactToTheBitWhereTokensAreKeptApart) {
  for (const auto& [name, config] : tiny_lms()) {
    if (!config.forgets_by_token()) continue;
    const auto model = make_lm(config);
    const at::Tensor ids = random_ids(1, 40);
    LmStream never(model), rolled(model);
    for (auto* stream : {&never, &rolled}) read_one_by_one(*stream, ids, 0, 11);
    rolled.read(row(ids, 20, 4));
    rolled.roll_back(4);
    EXPECT_EQ(rolled.memory().state->forgettable(), never.memory().state->forgettable());
    expect_same_text(rolled, never, 0, name);
  }
}

// Whoever reads several tokens at once has the hidden state of the last that stays.
TEST(LmRollBack, TakesTheHiddenStateThatIsKnown) {
  const auto model = make_lm(tiny_lm());
  const at::Tensor ids = random_ids(1, 20);
  LmStream stream(model);
  at::Tensor hidden;
  stream.read(row(ids, 0, 6), [&](const at::Tensor& piece, int64_t) { hidden = piece[0]; });
  stream.roll_back(2, hidden[3]);
  EXPECT_TRUE(stream.last_hidden().equal(hidden[3]));
  LmStream again = stream.fork();
  again.roll_back(4);
  EXPECT_EQ(again.position(), 0);
  EXPECT_SENTENCE(again.next_logits(), "nothing was read yet");
}

TEST(LmRollBack, ForksGoTheirOwnWays) {
  for (const auto& [name, config] : tiny_lms()) {
    const auto model = make_precise_lm(config);
    const at::Tensor ids = random_ids(1, 40);
    LmStream trunk(model);
    trunk.read(row(ids, 0, 13));
    LmStream left = trunk.fork(), right = trunk.fork();
    read_one_by_one(left, ids, 20, 9);
    right.roll_back(3);
    read_one_by_one(right, ids, 30, 9);
    read_one_by_one(trunk, ids, 13, 5);
    LmStream other(model), same(model), whole(model);
    read_one_by_one(other, ids, 0, 13), read_one_by_one(other, ids, 20, 9);
    read_one_by_one(same, ids, 0, 10), read_one_by_one(same, ids, 30, 9);
    read_one_by_one(whole, ids, 0, 18);
    expect_same_text(left, other, 1e-9, name);
    expect_same_text(right, same, 1e-9, name);
    expect_same_text(trunk, whole, 1e-9, name);
  }
}

TEST(LmRollBack, StopsAtTheChunkBoundary) {
  const auto model = make_lm(tiny_lm());
  const at::Tensor ids = random_ids(1, 20);
  LmStream stream(model);
  stream.read(row(ids, 0, 19));
  EXPECT_EQ(stream.forgettable(), 3);
  EXPECT_SENTENCE(stream.roll_back(4), "4 tokens are to be forgotten, expected 0 to 3");
  stream.roll_back(3);
  EXPECT_EQ(stream.forgettable(), 0);
  stream.roll_back(0);
  EXPECT_EQ(stream.position(), 16);
}

TEST(LmRollBack, AMemoryFileCanStillForgetItsChunk) {
  for (const auto& [name, config] : tiny_lms()) {
    const TemporaryFolder folder;
    const auto model = make_lm(config);
    const at::Tensor ids = random_ids(1, 40);
    LmStream stream(model), never(model);
    stream.read(row(ids, 0, 21));
    never.read(row(ids, 0, 18));
    save_memory(folder / "text.mem", stream, "x");
    LmStream loaded = load_memory(folder / "text.mem", model, "x");
    EXPECT_EQ(loaded.memory().history.id(), stream.memory().history.id());
    // A recurrence would have to read its chunk again, from a state that no file holds.
    EXPECT_EQ(loaded.forgettable(), config.forgets_by_token() ? 5 : 0) << name;
    if (loaded.forgettable() == 0) continue;
    loaded.roll_back(3);
    expect_same_text(loaded, never, 1e-5, name);
  }
}

}  // namespace
}  // namespace lact::models
