#include "lact/tasks/lm/engine/drafting.h"

#include <thread>

#include "support/engine_texts.h"
#include "support/errors.h"

namespace lact::tasks::lm {
namespace {

using lact::testing::greedy;
using lact::testing::lm_mixers;
using lact::testing::loaded_lm;
using lact::testing::random_tokens;
using lact::testing::run_text;
using lact::testing::submit;
using lact::testing::tiny_lm;
using lact::testing::wait_for;

models::LmConfig with_mixer(const models::MixerPattern& mixer, int64_t conv_width = 0) {
  auto config = tiny_lm(16, 16);
  config.mixer = mixer;
  config.layer.projection.conv_width = conv_width;
  return config;
}

std::vector<int64_t> written(Engine& engine, const std::vector<int64_t>& prompt,
                             const models::GenerateOptions& options) {
  return run_text(engine, {.prompt = prompt, .use_store = false, .options = options})->tokens();
}

// The draft is the model itself, but with other chunks: it is often right and not always.
TEST(Drafting, TheTextIsTheOneWithoutADraftForEveryMixer) {
  for (const auto& mixer : lm_mixers()) {
    for (const int64_t conv_width : {0, 3}) {
      const Loaded lm = loaded_lm(with_mixer(mixer, conv_width));
      auto smaller = with_mixer(mixer, conv_width);
      smaller.chunk_size = 8;
      smaller.window_size = 4;
      Engine plain(lm, {}), drafted(lm, {.slots = 2}, loaded_lm(smaller));
      std::vector<std::vector<int64_t>> prompts;
      std::vector<std::shared_ptr<lact::testing::ToldText>> texts;
      for (const int64_t length : {1, 13, 30}) {
        prompts.push_back(random_tokens(length));
        texts.push_back(
            submit(drafted, {.prompt = prompts.back(), .use_store = false, .options = greedy(40)}));
      }
      int64_t accepted = 0, proposed = 0;
      for (size_t i = 0; i < texts.size(); ++i) {
        wait_for(texts[i]);
        EXPECT_EQ(texts[i]->outcome.error, "");
        EXPECT_EQ(texts[i]->tokens(), written(plain, prompts[i], greedy(40))) << mixer.text();
        EXPECT_EQ(texts[i]->outcome.state->position(), int64_t(prompts[i].size()) + 40);
        accepted += texts[i]->outcome.draft_accepted;
        proposed += texts[i]->outcome.draft_tokens;
      }
      EXPECT_GT(proposed, accepted) << mixer.text();
      EXPECT_GT(accepted, 0) << mixer.text();
      EXPECT_EQ(drafted.status().draft_tokens, proposed);
    }
  }
}

TEST(Drafting, ADraftThatIsTheModelIsAlwaysRight) {
  const Loaded lm = loaded_lm(with_mixer(models::MixerKind::lact));
  Engine engine(lm, {.draft_tokens = 3}, lm);
  const auto text = run_text(engine, {.prompt = random_tokens(3), .options = greedy(30)});
  EXPECT_EQ(text->outcome.draft_accepted, text->outcome.draft_tokens);
  EXPECT_GT(text->outcome.draft_accepted, 15);
  EXPECT_LT(engine.status().decode_steps, 16);
}

TEST(Drafting, AnyTemperaturePenaltyAndStopGiveTheSameText) {
  const Loaded lm = loaded_lm(with_mixer(models::MixerKind::lact));
  Engine plain(lm, {}), drafted(lm, {}, loaded_lm(with_mixer(models::MixerKind::window)));
  for (int64_t seed = 1; seed < 5; ++seed) {
    models::GenerateOptions options = greedy(40);
    options.sampling = {.temperature = 0.3, .top_p = 0.9, .repetition_penalty = 1.1, .seed = seed};
    const auto prompt = random_tokens(5);
    const auto expected = run_text(plain, {.prompt = prompt, .use_store = false, .options = options});
    EXPECT_EQ(written(drafted, prompt, options), expected->tokens());
    options.stop = {expected->bytes.substr(20, 2)};
    const auto first = run_text(plain, {.prompt = prompt, .use_store = false, .options = options});
    const auto second = run_text(drafted, {.prompt = prompt, .use_store = false, .options = options});
    EXPECT_EQ(second->bytes, first->bytes);
    EXPECT_EQ(second->outcome.state->id, first->outcome.state->id);
    EXPECT_EQ(second->outcome.reason, TextOutcome::stop_string);
  }
}

TEST(Drafting, TheDraftReadsTheEndOfALongPrompt) {
  const Loaded lm = loaded_lm(with_mixer(models::MixerKind::lact));
  Engine plain(lm, {}), drafted(lm, {.prompt_piece = 8}, lm);
  const auto prompt = random_tokens(200);
  EXPECT_EQ(written(drafted, prompt, greedy(30)), written(plain, prompt, greedy(30)));
}

TEST(Drafting, ACancelledTextHasReadWhatItWroteAndNoProposal) {
  for (const auto kind : {models::MixerKind::lact, models::MixerKind::gla}) {
    const Loaded lm = loaded_lm(with_mixer(kind));
    Engine engine(lm, {}, lm);
    for (int64_t times = 1; times < 6; ++times) {
      Engine::Ticket ticket = 0;
      const int64_t before = engine.status().written_tokens;
      const auto text =
          submit(engine, {.prompt = {1, 2, 3}, .use_store = false, .options = greedy(1 << 30)}, &ticket);
      while (engine.status().written_tokens < before + 7 * times) std::this_thread::yield();
      engine.cancel(ticket);
      wait_for(text);
      EXPECT_EQ(text->outcome.reason, TextOutcome::cancelled);
      std::vector<int64_t> all = {1, 2, 3};
      for (const int64_t token : text->tokens()) all.push_back(token);
      EXPECT_EQ(text->outcome.state->id, lact::testing::state_after(lm, all)->id);
    }
  }
}

TEST(Drafting, AnotherTokenizerIsASentence) {
  const Loaded lm = loaded_lm(tiny_lm());
  struct Other : data::Tokenizer {
    std::unique_ptr<data::Tokenizer> bytes = data::byte_tokenizer();
    int64_t vocabulary_size() const override { return 10; }
    int32_t end_of_text() const override { return 0; }
    std::vector<int32_t> encode(std::string_view text) const override { return bytes->encode(text); }
    std::vector<int32_t> encode_continuation(std::string_view text) const override {
      return bytes->encode(text);
    }
    std::string token_bytes(int32_t token) const override { return bytes->token_bytes(token); }
    std::string decode(const std::vector<int32_t>& tokens) const override { return bytes->decode(tokens); }
    std::string description() const override { return "ten tokens"; }
    std::string hash() const override { return "another"; }
    std::string model_bytes() const override { return ""; }
    bool blanks_are_borders() const override { return true; }
  };
  Loaded draft = loaded_lm(tiny_lm());
  draft.tokenizer = std::make_shared<Other>();
  EXPECT_SENTENCE(Engine(lm, {}, draft), "its tokenizer (ten tokens) is not that of the model (bytes)");
}

}  // namespace
}  // namespace lact::tasks::lm
