#include "lact/tasks/lm/engine/engine.h"

#include <cmath>
#include <thread>

#include "support/engine_texts.h"
#include "support/errors.h"

namespace lact::tasks::lm {
namespace {

using lact::testing::greedy;
using lact::testing::loaded_lm;
using lact::testing::random_tokens;
using lact::testing::run_text;
using lact::testing::submit;
using lact::testing::tiny_lm;
using lact::testing::tiny_lms;
using lact::testing::wait_for;

std::vector<int64_t> written_alone(const Loaded& lm, const std::vector<int64_t>& prompt,
                                   const models::GenerateOptions& options) {
  models::LmStream stream(lm.model);
  return models::generate(stream, prompt, options, vocabulary_of(*lm.tokenizer), [](const std::string&) {})
      .tokens;
}

TEST(Engine, ManyTextsAtOnceAreEachAsIfAlone) {
  for (const auto& [name, config] : tiny_lms()) {
    const Loaded lm = loaded_lm(config);
    Engine engine(lm, {.slots = 4, .prompt_piece = 5});
    std::vector<std::vector<int64_t>> prompts;
    std::vector<std::shared_ptr<lact::testing::ToldText>> texts;
    for (const int64_t length : {1, 8, 21, 3, 30, 16, 2}) {  // more than there are slots
      prompts.push_back(random_tokens(length));
      texts.push_back(submit(engine, {.prompt = prompts.back(), .options = greedy(6 + length)}));
    }
    for (size_t i = 0; i < texts.size(); ++i) {
      wait_for(texts[i]);
      const auto& outcome = texts[i]->outcome;
      EXPECT_EQ(outcome.reason, TextOutcome::length) << outcome.error;
      EXPECT_EQ(texts[i]->tokens(), written_alone(lm, prompts[i], greedy(6 + int64_t(prompts[i].size()))))
          << name;
      EXPECT_EQ(outcome.prompt_tokens, int64_t(prompts[i].size()));
      EXPECT_EQ(outcome.written_tokens, 6 + outcome.prompt_tokens);
      EXPECT_EQ(outcome.state->position(), outcome.prompt_tokens + outcome.written_tokens);
    }
  }
}

TEST(Engine, ASeedGivesTheSameTextWhateverElseIsThere) {
  const Loaded lm = loaded_lm(tiny_lm());
  models::GenerateOptions options = greedy(20);
  options.sampling = {.temperature = 1.5, .top_p = 0.9, .repetition_penalty = 1.2, .seed = 11};
  const auto prompt = random_tokens(5);
  Engine engine(lm, {.slots = 3});
  const auto alone = run_text(engine, {.prompt = prompt, .use_store = false, .options = options});
  EXPECT_EQ(alone->tokens(), written_alone(lm, prompt, options));
  std::vector<std::shared_ptr<lact::testing::ToldText>> others;
  for (int i = 0; i < 5; ++i)
    others.push_back(submit(engine, {.prompt = random_tokens(9), .options = greedy(15)}));
  const auto again = run_text(engine, {.prompt = prompt, .use_store = false, .options = options});
  EXPECT_EQ(again->tokens(), alone->tokens());
  for (const auto& other : others) wait_for(other);
}

TEST(Engine, ContinuesFromAnyState) {
  const Loaded lm = loaded_lm(tiny_lm());
  Engine engine(lm, {});
  const auto document = random_tokens(19), question = random_tokens(4);
  const auto read = run_text(engine, {.prompt = document, .use_store = false, .options = greedy(0)});
  EXPECT_EQ(read->outcome.written_tokens, 0);
  ASSERT_TRUE(read->outcome.state);
  EXPECT_EQ(read->outcome.state->position(), 19);
  auto both = document;
  both.insert(both.end(), question.begin(), question.end());
  const auto expected = written_alone(lm, both, greedy(9));
  for (int i = 0; i < 2; ++i) {  // twice: the state stays as it is
    const auto text =
        run_text(engine, {.prompt = question, .from = read->outcome.state, .options = greedy(9)});
    EXPECT_EQ(text->tokens(), expected);
  }
  const auto without = run_text(engine, {.from = read->outcome.state, .options = greedy(9)});
  EXPECT_EQ(without->tokens(), written_alone(lm, document, greedy(9)));
}

TEST(Engine, WhatWasReadOnceIsNotReadAgain) {
  for (const auto& [name, config] : tiny_lms()) {
    const Loaded lm = loaded_lm(config);
    Engine engine(lm, {.prompt_piece = 8});
    const auto first = random_tokens(21);
    const auto expected = run_text(engine, {.prompt = first, .options = greedy(5)})->tokens();
    // The same prompt: its text has left the chunk, but the boundary before it is known.
    const auto same = run_text(engine, {.prompt = first, .options = greedy(5)});
    EXPECT_EQ(same->tokens(), expected) << name;
    EXPECT_EQ(same->outcome.cached_tokens, 16) << name;
    // The next turn of a conversation: everything but the new words is known.
    auto turn = first;
    turn.insert(turn.end(), expected.begin(), expected.end());
    turn.push_back(7);
    const auto next = run_text(engine, {.prompt = turn, .options = greedy(5)});
    EXPECT_EQ(next->outcome.cached_tokens, 26) << name;
    EXPECT_EQ(next->tokens(), written_alone(lm, turn, greedy(5))) << name;
    EXPECT_EQ(
        run_text(engine, {.prompt = turn, .use_store = false, .options = greedy(1)})->outcome.cached_tokens,
        0);
  }
}

TEST(Engine, StopsBeforeAStopString) {
  const Loaded lm = loaded_lm(tiny_lm());
  Engine engine(lm, {});
  const auto prompt = random_tokens(6);
  const auto whole = run_text(engine, {.prompt = prompt, .options = greedy(12)});
  models::GenerateOptions options = greedy(12);
  options.stop = {"nothing like it", whole->bytes.substr(5, 3)};
  const auto text = run_text(engine, {.prompt = prompt, .use_store = false, .options = options});
  EXPECT_EQ(text->outcome.reason, TextOutcome::stop_string);
  EXPECT_EQ(text->outcome.stopping_word, options.stop[1]);
  EXPECT_EQ(text->bytes, whole->bytes.substr(0, whole->bytes.find(options.stop[1])));
  models::LmStream stream(lm.model);
  const auto expected =
      models::generate(stream, prompt, options, vocabulary_of(*lm.tokenizer), [](const std::string&) {});
  EXPECT_EQ(text->bytes, expected.bytes);
  EXPECT_EQ(text->tokens(), expected.tokens);
  EXPECT_EQ(text->outcome.state->position(), stream.position());
}

TEST(Engine, EndsWithTheText) {
  const Loaded lm = loaded_lm(tiny_lm());
  const auto prompt = random_tokens(6);
  models::GenerateOptions options = greedy(2000);
  options.sampling = {.temperature = 1, .top_p = 1, .seed = 5};
  options.ignore_end = false;
  Engine engine(lm, {});
  const auto text = run_text(engine, {.prompt = prompt, .options = options});
  ASSERT_EQ(text->outcome.reason, TextOutcome::end_of_text);
  EXPECT_EQ(text->outcome.state->position(), 6 + text->outcome.written_tokens);
  for (const int64_t token : text->tokens()) EXPECT_NE(token, 0);
}

TEST(Engine, LogProbabilitiesAreTheModels) {
  const Loaded lm = loaded_lm(tiny_lm());
  Engine engine(lm, {});
  const auto prompt = random_tokens(6);
  const auto text = run_text(engine, {.prompt = prompt, .options = greedy(3), .top_logprobs = 4});
  models::LmStream stream(lm.model);
  stream.read(prompt);
  ASSERT_EQ(text->written.size(), 3u);
  for (const auto& written : text->written) {
    const at::Tensor expected = at::log_softmax(stream.next_logits(), 0);
    EXPECT_NEAR(written.logprob, expected[written.token].item<float>(), 1e-5);
    ASSERT_EQ(written.top.size(), 4u);
    EXPECT_EQ(written.top[0].first, written.token);  // greedy
    EXPECT_GE(written.top[0].second, written.top[1].second);
    stream.read({&written.token, 1});
  }
}

TEST(Engine, ACancelledTextEndsAndTheOthersGoOn) {
  const Loaded lm = loaded_lm(tiny_lm());
  Engine engine(lm, {.slots = 2});
  Engine::Ticket endless = 0, waiting = 0, second = 0;
  const auto one = submit(engine, {.prompt = {1}, .options = greedy(1 << 30)}, &endless);
  const auto two = submit(engine, {.prompt = {2}, .options = greedy(1 << 30)}, &second);
  const auto three = submit(engine, {.prompt = {3}, .options = greedy(1 << 30)}, &waiting);
  engine.cancel(waiting);
  wait_for(three);
  EXPECT_EQ(three->outcome.reason, TextOutcome::cancelled);
  EXPECT_EQ(three->outcome.slot, -1);
  engine.cancel(endless);
  wait_for(one);
  EXPECT_EQ(one->outcome.reason, TextOutcome::cancelled);
  const auto prompt = random_tokens(4);
  EXPECT_EQ(run_text(engine, {.prompt = prompt, .options = greedy(8)})->tokens(),
            written_alone(lm, prompt, greedy(8)));
  engine.cancel(second);
  engine.cancel(second);
  engine.cancel(12345);
  wait_for(two);
  EXPECT_EQ(two->times_finished, 1);
}

TEST(Engine, EndsInTheMiddleOfEverything) {
  std::vector<std::shared_ptr<lact::testing::ToldText>> texts;
  {
    Engine engine(loaded_lm(tiny_lm()), {.slots = 2});
    for (int i = 0; i < 5; ++i) {
      texts.push_back(submit(engine, {.prompt = random_tokens(2000), .options = greedy(1 << 30)}));
    }
  }
  for (const auto& text : texts) {
    EXPECT_EQ(text->times_finished, 1);
    EXPECT_EQ(text->outcome.reason, TextOutcome::cancelled);
  }
}

TEST(Engine, ATextThatFailsFailsAlone) {
  const Loaded lm = loaded_lm(tiny_lm());
  Engine engine(lm, {.slots = 3});
  const auto good = run_text(engine, {.prompt = random_tokens(10), .options = greedy(0)})->outcome.state;
  const auto spoilt = [&](const std::function<void(models::TextMemory&)>& spoil) {
    models::TextMemory memory = good->memory.clone();
    spoil(memory);
    return std::make_shared<const Snapshot>(Snapshot{"spoilt", std::move(memory), lm.model});
  };
  const auto nan_logits = spoilt([](auto& memory) { memory.last_hidden = memory.last_hidden / 0.f; });
  const auto lost = spoilt([](auto& memory) { memory.state->position = 12; });
  const auto fails = submit(engine, {.from = nan_logits, .options = greedy(5)});
  const auto fails_later = submit(engine, {.from = lost, .options = greedy(5)});
  const auto prompt = random_tokens(4);
  const auto text = submit(engine, {.prompt = prompt, .options = greedy(30)});
  for (const auto& each : {fails, fails_later, text}) wait_for(each);
  EXPECT_EQ(fails->outcome.reason, TextOutcome::failed);
  EXPECT_EQ(fails->outcome.error, "[generate] the model's logits contain NaN or infinity");
  EXPECT_FALSE(fails->outcome.state);
  EXPECT_EQ(fails_later->outcome.reason, TextOutcome::failed);
  EXPECT_NE(fails_later->outcome.error.find("the state ends at token 10"), std::string::npos);
  EXPECT_EQ(text->tokens(), written_alone(lm, prompt, greedy(30)));
}

TEST(Engine, AWishedSlotIsWaitedForAndKeepsItsState) {
  const Loaded lm = loaded_lm(tiny_lm());
  Engine engine(lm, {.slots = 2, .store = {.store_ram_bytes = 1 << 24}});
  Engine::Ticket endless = 0;
  const auto busy = submit(engine, {.prompt = {1}, .options = greedy(1 << 30), .slot = 1}, &endless);
  const auto wish = submit(engine, {.prompt = {2, 3}, .options = greedy(2), .slot = 1});
  const auto other = run_text(engine, {.prompt = {4}, .options = greedy(2)});
  EXPECT_EQ(other->outcome.slot, 0);
  engine.cancel(endless);
  wait_for(wish);
  EXPECT_EQ(wish->outcome.slot, 1);
  EXPECT_EQ(engine.slot_state(1)->id, wish->outcome.state->id);
  EXPECT_EQ(engine.slot_state(0)->position(), 3);
  EXPECT_EQ(engine.status().slots[0].kept_tokens, 3);
  EXPECT_EQ(engine.status().slots[0].kept_bytes, engine.slot_state(0)->bytes());
  engine.set_slot_state(1, nullptr);
  EXPECT_FALSE(engine.slot_state(1));
  EXPECT_EQ(engine.status().slots[1].kept_tokens, 0);
  EXPECT_EQ(run_text(engine, {.prompt = {2, 3}, .options = greedy(1)})->outcome.cached_tokens, 0);
  engine.set_slot_state(1, wish->outcome.state);
  EXPECT_GT(run_text(engine, {.prompt = {2, 3, 9}, .options = greedy(1)})->outcome.cached_tokens, 0);
  EXPECT_SENTENCE(engine.slot_state(2), "slot 2, expected one below 2");
}

TEST(Engine, NothingHoldsTheMemoryOfAFinishedText) {
  Engine engine(loaded_lm(tiny_lm()), {.store = {.store_ram_bytes = 1 << 24}});
  const auto text = run_text(engine, {.prompt = {1, 2}, .use_store = false, .options = greedy(3)});
  const std::weak_ptr<const Snapshot> state = std::exchange(text->outcome.state, nullptr);
  // The engine's own copy goes right after it has told.
  for (int i = 0; i < 200 && !state.expired(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(state.expired());
  EXPECT_FALSE(engine.slot_state(0));
  run_text(engine, {.prompt = {1, 2}, .options = greedy(3)});
  EXPECT_TRUE(engine.slot_state(0));
  Engine small(loaded_lm(tiny_lm()), {.store = {.store_ram_bytes = 10}});
  EXPECT_SENTENCE(
      small.set_slot_state(0, run_text(small, {.prompt = {1}, .options = greedy(1)})->outcome.state),
      "expected no more than store_ram_bytes (10)");
}

TEST(Engine, CountsWhatItDoes) {
  Engine engine(loaded_lm(tiny_lm()), {.slots = 2});
  run_text(engine, {.prompt = random_tokens(10), .use_store = false, .options = greedy(7)});
  run_text(engine, {.prompt = random_tokens(3), .use_store = false, .options = greedy(2)});
  const EngineStatus status = engine.status();
  EXPECT_EQ(status.prompt_tokens, 13);
  EXPECT_EQ(status.written_tokens, 9);
  EXPECT_EQ(status.decode_steps, 9);
  EXPECT_EQ(status.busy_slots, 9);
  EXPECT_EQ(status.texts_finished, 2);
  EXPECT_EQ(status.waiting, 0);
  ASSERT_EQ(status.slots.size(), 2u);
  EXPECT_FALSE(status.slots[0].busy);
  EXPECT_GT(status.prompt_seconds, 0);
}

TEST(Engine, ProgressOfALongPromptIsTold) {
  Engine engine(loaded_lm(tiny_lm()), {.prompt_piece = 4});
  std::vector<int64_t> read;
  std::promise<void> done;
  TextEvents events;
  events.progress = [&](int64_t total, int64_t cached, int64_t processed) {
    EXPECT_EQ(total, 18);
    EXPECT_EQ(cached, 0);
    read.push_back(processed);
  };
  events.finished = [&](const TextOutcome&) { done.set_value(); };
  engine.submit({.prompt = random_tokens(18), .options = greedy(0)}, events);
  done.get_future().wait();
  EXPECT_EQ(read, (std::vector<int64_t>{0, 4, 8, 12, 16, 18}));
}

TEST(Engine, MistakesAreSentences) {
  const Loaded lm = loaded_lm(tiny_lm());
  EXPECT_SENTENCE(Engine(lm, {.slots = 0}), "slots is 0");
  EXPECT_SENTENCE(Engine(lm, {.prompt_piece = 0}), "prompt_piece is 0");
  Engine engine(lm, {});
  EXPECT_SENTENCE(engine.submit({}, {}), "neither a prompt nor a state");
  EXPECT_SENTENCE(engine.submit({.prompt = {300}}, {}), "token 300 is outside");
  EXPECT_SENTENCE(engine.submit({.prompt = {-1}}, {}), "token -1 is outside");
  EXPECT_SENTENCE(engine.submit({.prompt = {1}, .slot = 8}, {}), "slot 8");
  EXPECT_SENTENCE(engine.submit({.prompt = {1}, .options = greedy(-1)}, {}), "max_tokens is -1");
  Engine other(loaded_lm(tiny_lm(), 9), {});
  const auto state = run_text(other, {.prompt = {1}, .options = greedy(1)})->outcome.state;
  EXPECT_SENTENCE(engine.submit({.from = state}, {}), "of another model");
}

}  // namespace
}  // namespace lact::tasks::lm
