#include "lact/tasks/lm/engine/text_state.h"

#include <algorithm>

#include "support/engine_texts.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::tasks::lm {
namespace {

using lact::testing::loaded_lm;
using lact::testing::random_tokens;
using lact::testing::state_after;
using lact::testing::TemporaryFolder;
using lact::testing::tiny_lm;
using lact::testing::tiny_lms;

at::Tensor logits_of(const TextState& state, const Loaded& lm) {
  return stream_from(state, lm).next_logits();
}

TEST(TextState, IsWhatTheStreamWasWhereverThatGoes) {
  const Loaded lm = loaded_lm(tiny_lm());
  const auto tokens = random_tokens(30);
  models::LmStream stream(lm.model);
  stream.read(std::span(tokens).first(11));
  const at::Tensor expected = stream.next_logits();
  const TextState state = snapshot(stream, lm);
  stream.read(std::span(tokens).subspan(11));
  EXPECT_EQ(state->position(), 11);
  EXPECT_EQ(state->boundary(), 8);
  EXPECT_EQ(state->tail(), (std::vector<int64_t>(tokens.begin() + 8, tokens.begin() + 11)));
  EXPECT_TRUE(logits_of(state, lm).equal(expected));
  EXPECT_EQ(state->id, state_after(lm, std::span(tokens).first(11))->id);
  EXPECT_GT(state->bytes(), models::state_bytes(*state->memory.state));
}

// What streams and files leave behind takes more memory than its numbers, or lies on the disk.
TEST(TextState, ACompactedOneIsTheSameInItsOwnMemory) {
  const TemporaryFolder folder;
  for (const auto& [name, config] : tiny_lms()) {
    const Loaded lm = loaded_lm(config);
    const auto tokens = random_tokens(30);
    models::LmStream stream(lm.model);
    for (const int64_t token : tokens) stream.read({&token, 1});
    const TextState state = snapshot(stream, lm);
    save_text_state(folder / "text.mem", state, lm);
    for (const TextState& kept : {state, load_text_state(folder / "text.mem", lm)}) {
      EXPECT_FALSE(kept->memory.is_compact()) << name;
      const TextState small = compacted(kept);
      EXPECT_TRUE(small->memory.is_compact()) << name;
      EXPECT_EQ(compacted(small), small);
      EXPECT_EQ(small->id, state->id);
      EXPECT_EQ(small->bytes(), kept->bytes());
      const int64_t forgotten = std::min<int64_t>(3, forgettable(kept, lm));
      EXPECT_EQ(forgettable(small, lm), forgettable(kept, lm)) << name;
      EXPECT_TRUE(logits_of(rolled_back(small, forgotten, lm), lm)
                      .equal(logits_of(rolled_back(kept, forgotten, lm), lm)))
          << name;
    }
  }
}

TEST(TextState, SurvivesAFile) {
  const TemporaryFolder folder;
  for (const auto& [name, config] : tiny_lms()) {
    const Loaded lm = loaded_lm(config);
    const auto tokens = random_tokens(21);
    const TextState state = state_after(lm, tokens);
    save_text_state(folder / "text.mem", state, lm);
    const TextState loaded = load_text_state(folder / "text.mem", lm);
    EXPECT_EQ(loaded->id, state->id) << name;
    EXPECT_EQ(loaded->position(), 21);
    EXPECT_EQ(loaded->tail(), state->tail());
    EXPECT_TRUE(logits_of(loaded, lm).equal(logits_of(state, lm))) << name;
  }
}

TEST(TextState, RollsBackInsideOfItsChunk) {
  for (const auto& [name, config] : tiny_lms()) {
    const Loaded lm = loaded_lm(config);
    const auto tokens = random_tokens(21);
    const TextState state = state_after(lm, tokens);
    EXPECT_EQ(forgettable(state, lm), 5);
    for (const int64_t forgotten : {0, 2, 5}) {
      const TextState found = rolled_back(state, forgotten, lm);
      const TextState expected = state_after(lm, std::span(tokens).first(size_t(21 - forgotten)));
      EXPECT_EQ(found->id, expected->id) << name;
      EXPECT_EQ(found->position(), 21 - forgotten);
      EXPECT_TRUE(logits_of(found, lm).allclose(logits_of(expected, lm), 1e-4, 1e-5)) << name;
    }
    EXPECT_SENTENCE(rolled_back(state, 6, lm), "6 tokens are to be forgotten, expected 0 to 5");
    EXPECT_EQ(state->position(), 21);
  }
}

TEST(TextState, ARolledBackOneCanBeSaved) {
  const TemporaryFolder folder;
  const Loaded lm = loaded_lm(tiny_lm());
  const auto tokens = random_tokens(21);
  save_text_state(folder / "text.mem", rolled_back(state_after(lm, tokens), 3, lm), lm);
  const TextState loaded = load_text_state(folder / "text.mem", lm);
  const TextState expected = state_after(lm, std::span(tokens).first(18));
  EXPECT_EQ(loaded->id, expected->id);
  EXPECT_TRUE(logits_of(loaded, lm).allclose(logits_of(expected, lm), 1e-4, 1e-5));
}

TEST(TextState, OfAnotherModelIsASentence) {
  const TemporaryFolder folder;
  const Loaded lm = loaded_lm(tiny_lm()), other = loaded_lm(tiny_lm(), 5);
  const TextState state = state_after(lm, random_tokens(4));
  EXPECT_SENTENCE(stream_from(state, other), "of another model");
  save_text_state(folder / "text.mem", state, lm);
  EXPECT_SENTENCE(load_text_state(folder / "text.mem", other), "was made by another model");
  EXPECT_SENTENCE(save_text_state(folder / "none.mem", nullptr, lm), "nothing was read");
}

}  // namespace
}  // namespace lact::tasks::lm
