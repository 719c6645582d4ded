#include "lact/tasks/lm/engine/state_store.h"

#include <filesystem>
#include <thread>

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
using lact::testing::write_file;

using Tokens = std::vector<int64_t>;

Tokens joined(Tokens first, const Tokens& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Tokens first_of(const Tokens& tokens, size_t count) {
  return {tokens.begin(), tokens.begin() + int64_t(count)};
}

void expect_is(const TextState& found, const Loaded& lm, const Tokens& tokens) {
  ASSERT_TRUE(found);
  EXPECT_EQ(found->position(), int64_t(tokens.size()));
  const TextState expected = state_after(lm, tokens);
  EXPECT_EQ(found->id, expected->id);
  EXPECT_TRUE(
      stream_from(found, lm).next_logits().allclose(stream_from(expected, lm).next_logits(), 1e-4, 1e-5));
}

constexpr StateStoreOptions kRoomy = {.store_ram_bytes = 1 << 26};

TEST(StateStore, FindsTheLongestBeginningOfAPrompt) {
  const Loaded lm = loaded_lm(tiny_lm());  // chunks of 8
  StateStore store(lm, kRoomy);
  const Tokens text = random_tokens(40);
  EXPECT_FALSE(store.longest_prefix(text));
  for (const size_t length : {3, 8, 16, 21}) store.put(state_after(lm, first_of(text, length)));
  expect_is(store.longest_prefix(text), lm, first_of(text, 21));
  expect_is(store.longest_prefix(first_of(text, 21)), lm, first_of(text, 21));
  expect_is(store.longest_prefix(first_of(text, 15)), lm, first_of(text, 8));
  expect_is(store.longest_prefix(first_of(text, 16)), lm, first_of(text, 16));
  EXPECT_FALSE(store.longest_prefix(random_tokens(40)));
  EXPECT_EQ(store.status().asked, 6);
  EXPECT_EQ(store.status().found, 4);
  EXPECT_EQ(store.status().in_memory, 4);
}

TEST(StateStore, AStateThatStraysInsideOfItsChunkIsRolledBack) {
  for (const auto& [name, config] : tiny_lms()) {
    const Loaded lm = loaded_lm(config);
    StateStore store(lm, kRoomy);
    const Tokens text = random_tokens(22);
    store.put(state_after(lm, text));
    const Tokens other = joined(first_of(text, 19), random_tokens(9));
    // What cannot forget token by token goes back to the boundary.
    const size_t expected = config.forgets_by_token() ? 19 : 16;
    expect_is(store.longest_prefix(other), lm, first_of(text, expected));
    expect_is(store.longest_prefix(first_of(text, 16)), lm, first_of(text, 16));
    // Nothing is known of the chunks before.
    EXPECT_FALSE(store.longest_prefix(joined(first_of(text, 12), random_tokens(9)))) << name;
  }
}

TEST(StateStore, TheLeastRecentlyUsedGoFirst) {
  const Loaded lm = loaded_lm(tiny_lm());
  const Tokens a = random_tokens(8), b = random_tokens(8), c = random_tokens(8);
  const int64_t one = state_after(lm, a)->bytes();
  StateStore store(lm, {.store_ram_bytes = 2 * one + one / 2});
  store.put(state_after(lm, a));
  store.put(state_after(lm, b));
  EXPECT_TRUE(store.longest_prefix(a));
  store.put(state_after(lm, c));
  EXPECT_TRUE(store.longest_prefix(a));
  EXPECT_FALSE(store.longest_prefix(b));
  EXPECT_TRUE(store.longest_prefix(c));
  EXPECT_EQ(store.status().in_memory, 2);
  EXPECT_EQ(store.status().memory_bytes, 2 * one);
  store.put(state_after(lm, a));  // known already
  EXPECT_EQ(store.status().in_memory, 2);
  StateStore small(lm, {.store_ram_bytes = one - 1});
  small.put(state_after(lm, a));
  EXPECT_EQ(small.status().in_memory, 0);
}

TEST(StateStore, WhatItKeepsTakesJustTheMemoryThatItCounts) {
  const TemporaryFolder folder;
  const Loaded lm = loaded_lm(tiny_lm());
  const Tokens text = random_tokens(11);
  const StateStoreOptions options = {.store_ram_bytes = 1 << 26, .store_folder = folder / "states"};
  {
    StateStore store(lm, options);
    models::LmStream stream(lm.model);
    for (const int64_t token : text) stream.read({&token, 1});
    store.put(snapshot(stream, lm));
    EXPECT_TRUE(store.longest_prefix(text)->memory.is_compact());
  }
  StateStore again(lm, options);
  EXPECT_TRUE(again.longest_prefix(text)->memory.is_compact());
}

TEST(StateStore, StatesSurviveARestartOnDisk) {
  const TemporaryFolder folder;
  const Loaded lm = loaded_lm(tiny_lm());
  const Tokens a = random_tokens(8), b = random_tokens(11);
  const StateStoreOptions options = {.store_ram_bytes = 1 << 26, .store_folder = folder / "states"};
  {
    StateStore store(lm, options);
    store.put(state_after(lm, a));
    store.put(state_after(lm, b));
  }
  {
    StateStore store(lm, options);
    EXPECT_EQ(store.status().on_disk, 2);
    EXPECT_EQ(store.status().in_memory, 0);
    expect_is(store.longest_prefix(joined(a, {1, 2})), lm, a);
    expect_is(store.longest_prefix(joined(first_of(b, 10), {1, 2})), lm, first_of(b, 10));
    EXPECT_EQ(store.status().in_memory, 2);
    store.forget(state_after(lm, a)->id);
    EXPECT_FALSE(store.longest_prefix(a));
  }
  EXPECT_EQ(StateStore(lm, options).status().on_disk, 1);
  // Another model has a place of its own.
  const Loaded other = loaded_lm(tiny_lm(), 5);
  StateStore others(other, options);
  EXPECT_EQ(others.status().on_disk, 0);
  EXPECT_FALSE(others.longest_prefix(b));
}

TEST(StateStore, WhatLeavesMemoryGoesToDiskAndThenAway) {
  const TemporaryFolder folder;
  const Loaded lm = loaded_lm(tiny_lm());
  std::vector<Tokens> texts;
  for (int i = 0; i < 5; ++i) texts.push_back(random_tokens(8));
  const int64_t one = state_after(lm, texts[0])->bytes();
  StateStoreOptions options = {.store_ram_bytes = one, .store_folder = folder / "states"};
  {
    StateStore store(lm, options);
    for (const auto& text : texts) {
      store.put(state_after(lm, text));
      while (store.status().on_disk + store.status().in_memory < 1) std::this_thread::yield();
    }
    EXPECT_TRUE(store.longest_prefix(texts[4]));
  }
  int64_t files = 0, bytes = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder / "states")) {
    if (!file.is_regular_file()) continue;
    ++files;
    bytes = int64_t(file.file_size());
  }
  EXPECT_GE(files, 2);
  options.store_folder_bytes = bytes + bytes / 2;
  EXPECT_EQ(StateStore(lm, options).status().on_disk, 1);
}

TEST(StateStore, FilesAreNotTrusted) {
  const TemporaryFolder folder;
  const Loaded lm = loaded_lm(tiny_lm());
  const Tokens a = random_tokens(8), b = random_tokens(8);
  const StateStoreOptions options = {.store_ram_bytes = 1 << 26, .store_folder = folder / "states"};
  { StateStore(lm, options).put(state_after(lm, a)); }
  const std::string place = folder / "states/" + lm.fingerprint + "/";
  const std::string good = place + state_after(lm, a)->id + ".mem";
  ASSERT_TRUE(std::filesystem::exists(good));
  std::filesystem::copy(good, place + state_after(lm, b)->id + ".mem");  // another text's name
  write_file(place + std::string(64, 'a') + ".mem", "no tensors");
  write_file(place + "notes.txt", "someone else's");
  StateStore store(lm, options);
  EXPECT_EQ(store.status().on_disk, 1);
  EXPECT_FALSE(store.longest_prefix(b));
  // Damaged after it was found.
  std::filesystem::resize_file(good, std::filesystem::file_size(good) / 2);
  EXPECT_FALSE(store.longest_prefix(a));
  EXPECT_EQ(store.status().on_disk, 0);
  EXPECT_TRUE(std::filesystem::exists(place + "notes.txt"));
}

TEST(StateStore, MayBeUsedFromManyThreads) {
  const TemporaryFolder folder;
  const Loaded lm = loaded_lm(tiny_lm());
  std::vector<TextState> states;
  std::vector<Tokens> texts;
  for (int i = 0; i < 6; ++i) {
    texts.push_back(random_tokens(9 + i));
    states.push_back(state_after(lm, texts.back()));
  }
  StateStore store(lm, {.store_ram_bytes = 3 * states[0]->bytes(), .store_folder = folder / "states"});
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 60; ++i) {
        const size_t which = size_t(i * 7 + thread) % texts.size();
        store.put(states[which]);
        if (const auto found = store.longest_prefix(texts[which])) {
          EXPECT_LE(found->position(), int64_t(texts[which].size()));
        }
        if (i % 20 == 19) store.forget(states[which]->id);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_LE(store.status().memory_bytes, 3 * states[0]->bytes());
}

}  // namespace
}  // namespace lact::tasks::lm
