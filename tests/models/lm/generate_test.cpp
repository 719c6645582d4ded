#include "lact/models/lm/generate.h"

#include <map>
#include <set>

#include "support/errors.h"
#include "support/tiny_lm.h"

namespace lact::models {
namespace {

using lact::testing::make_lm;
using lact::testing::tiny_lm;

const Vocabulary kBytes = {0, [](int64_t token) { return std::string(1, char(token)); }};

std::map<int64_t, int> draws(const SamplingOptions& options, const at::Tensor& logits, int count = 2000) {
  Sampler sampler(options);
  std::map<int64_t, int> counts;
  for (int i = 0; i < count; ++i) ++counts[sampler.draw(logits)];
  return counts;
}

TEST(Sampling, TemperatureZeroTakesTheLikeliest) {
  const at::Tensor logits = at::tensor({0.1, 2.0, 1.9});
  EXPECT_EQ(draws({.temperature = 0}, logits).size(), 1u);
  EXPECT_EQ(Sampler({.temperature = 0}).draw(logits), 1);
}

TEST(Sampling, FollowsTheProbabilities) {
  const at::Tensor logits = at::log(at::tensor({0.5, 0.3, 0.2}));
  const auto counts = draws({.temperature = 1, .top_p = 1}, logits, 20000);
  EXPECT_NEAR(counts.at(0) / 20000.0, 0.5, 0.02);
  EXPECT_NEAR(counts.at(2) / 20000.0, 0.2, 0.02);
}

TEST(Sampling, TopKAndTopPCutTheTail) {
  const at::Tensor logits = at::log(at::tensor({0.1, 0.2, 0.3, 0.4}));
  const auto by_count = draws({.temperature = 1, .top_k = 2, .top_p = 1}, logits);
  EXPECT_EQ(by_count.size(), 2u);
  EXPECT_EQ(by_count.count(0) + by_count.count(1), 0u);
  const auto by_share = draws({.temperature = 1, .top_p = 0.65}, logits);
  EXPECT_EQ(by_share.size(), 2u);
}

// The fewest of the likeliest tokens that reach the share, each as often as its probability among them.
TEST(Sampling, TopPKeepsTheShareThatWasAskedFor) {
  const at::Tensor logits = at::tensor({0.1, 0.4, 0.2, 0.3}).log();
  const auto kept = [&](double top_p) {
    std::set<int64_t> tokens;
    for (const auto& [token, times] : draws({.temperature = 1, .top_p = top_p}, logits)) tokens.insert(token);
    return tokens;
  };
  EXPECT_EQ(kept(0.39), (std::set<int64_t>{1}));
  EXPECT_EQ(kept(0.41), (std::set<int64_t>{1, 3}));
  EXPECT_EQ(kept(0.69), (std::set<int64_t>{1, 3}));
  EXPECT_EQ(kept(0.71), (std::set<int64_t>{1, 2, 3}));
  EXPECT_EQ(kept(0.89), (std::set<int64_t>{1, 2, 3}));
  EXPECT_EQ(kept(0.91).size(), 4u);
  EXPECT_EQ(kept(1).size(), 4u);
  const auto times = draws({.temperature = 1, .top_p = 0.8}, logits, 9000);
  EXPECT_NEAR(times.at(1), 4000, 200);
  EXPECT_NEAR(times.at(3), 3000, 200);
  EXPECT_NEAR(times.at(2), 2000, 200);
}

TEST(Sampling, RepetitionPenaltyMakesSeenTokensLessLikely) {
  Sampler sampler({.temperature = 0, .repetition_penalty = 2, .penalty_window = 1});
  const at::Tensor logits = at::tensor({1.0, 1.5, -1.0});
  EXPECT_EQ(sampler.draw(logits), 1);
  sampler.note(1);
  EXPECT_EQ(sampler.draw(logits), 0);
  sampler.note(0);  // pushes the 1 out of the stretch
  EXPECT_EQ(sampler.draw(logits), 1);
}

TEST(Sampling, MistakesAreSentences) {
  EXPECT_SENTENCE(Sampler({.temperature = -1}), "temperature is -1");
  EXPECT_SENTENCE(Sampler({.top_p = 0}), "top_p is 0");
  EXPECT_SENTENCE(Sampler({.top_k = -2}), "top_k is -2");
  EXPECT_SENTENCE(Sampler({}).draw(at::full({3}, std::nan(""))), "contain NaN");
}

TEST(Generate, TheSameSeedGivesTheSameText) {
  const auto model = make_lm(tiny_lm());
  const std::vector<int64_t> prompt = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const auto text = [&](int64_t seed) {
    LmStream stream(model);
    GenerateOptions options;
    options.max_tokens = 40;
    options.sampling.seed = seed;
    options.ignore_end = true;
    return generate(stream, prompt, options, kBytes, [](const std::string&) {}).tokens;
  };
  EXPECT_EQ(text(1), text(1));
  EXPECT_NE(text(1), text(2));
}

TEST(Generate, GreedyTextIsWhatTheWholeModelWouldSay) {
  const auto model = make_lm(tiny_lm());
  std::vector<int64_t> tokens = {10, 20, 30};
  LmStream stream(model);
  GenerateOptions options;
  options.max_tokens = 25;
  options.sampling.temperature = 0;
  options.ignore_end = true;
  const auto written = generate(stream, tokens, options, kBytes, [](const std::string&) {}).tokens;
  at::NoGradGuard no_grad;
  for (const int64_t token : written) {
    const at::Tensor ids = at::tensor(tokens, at::kLong).unsqueeze(0);
    EXPECT_EQ(model->forward(ids)[0][-1].argmax().item<int64_t>(), token);
    tokens.push_back(token);
  }
}

// The penalty is for tokens of the prompt, too.
TEST(Generate, WhatThePromptSaysCountsAsARepetition) {
  const auto model = make_lm(tiny_lm());
  GenerateOptions options;
  options.max_tokens = 1;
  options.ignore_end = true;
  options.sampling.temperature = 0;
  options.sampling.repetition_penalty = 50;
  int moved = 0;
  for (int64_t first = 0; first < 40; ++first) {
    std::vector<int64_t> prompt;
    for (int64_t i = 0; i < 60; ++i) prompt.push_back((first * 7 + i * 3) % 256);
    LmStream stream(model), same(model);
    same.read(prompt);
    Sampler noting(options.sampling), forgetting(options.sampling);
    for (const int64_t token : prompt) noting.note(token);
    const int64_t expected = noting.draw(same.next_logits());
    EXPECT_EQ(generate(stream, prompt, options, kBytes, [](const std::string&) {}).tokens.at(0), expected);
    moved += expected != forgetting.draw(same.next_logits());
  }
  EXPECT_GT(moved, 0);
}

TEST(Generate, StopsBeforeAStopStringAndPrintsNothingOfIt) {
  const auto model = make_lm(tiny_lm());
  GenerateOptions options;
  options.max_tokens = 200;
  options.sampling.temperature = 0;
  options.ignore_end = true;
  const std::vector<int64_t> prompt = {65, 66};
  LmStream first(model);
  const std::string whole = generate(first, prompt, options, kBytes, [](const std::string&) {}).bytes;
  ASSERT_EQ(whole.size(), 200u);
  options.stop = {whole.substr(20, 3), "never"};
  const size_t place = whole.find(options.stop[0]);
  LmStream second(model);
  std::string printed;
  const auto outcome =
      generate(second, prompt, options, kBytes, [&](const std::string& bytes) { printed += bytes; });
  EXPECT_EQ(outcome.reason, StopReason::stop_string);
  EXPECT_EQ(outcome.bytes, whole.substr(0, place));
  EXPECT_EQ(printed, outcome.bytes);
}

TEST(Generate, StopsAtTheEndOfText) {
  const auto model = make_lm(tiny_lm());
  LmStream probe(model);
  const std::vector<int64_t> prompt = {65, 66};
  probe.read(prompt);
  const int64_t likeliest = probe.next_logits().argmax().item<int64_t>();
  GenerateOptions options;
  options.sampling.temperature = 0;
  LmStream stream(model);
  const auto outcome =
      generate(stream, prompt, options, {likeliest, kBytes.bytes}, [](const std::string&) {});
  EXPECT_EQ(outcome.reason, StopReason::end_of_text);
  EXPECT_TRUE(outcome.tokens.empty());
}

}  // namespace
}  // namespace lact::models
