#include "lact/tasks/lm/serving/generation_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace lact::tasks::lm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const GenerationLimits kLimits = {.max_tokens = 100, .max_choices = 4, .vocabulary_size = 256};

GenerationRequest parse(Dialect dialect, const char* body) {
  return parse_generation(dialect, ApiJson::parse(body), kLimits, {});
}
std::string refusal_of(Dialect dialect, const char* body) {
  return testing::sentence_of<ApiError>([&] { parse(dialect, body); });
}

TEST(GenerationRequest, TheSameWishInThreeDialects) {
  const auto native = parse(Dialect::native, R"({"prompt": "a", "n_predict": 7, "temperature": 0, "top_k": 3,
      "repeat_penalty": 1.5, "repeat_last_n": 9, "seed": 5, "stop": ["x"], "n_probs": 2, "ignore_eos": true,
      "cache_prompt": false, "id_slot": 1, "return_tokens": true})");
  EXPECT_EQ(native.options.max_tokens, 7);
  EXPECT_EQ(native.options.sampling.top_k, 3);
  EXPECT_EQ(native.options.sampling.repetition_penalty, 1.5);
  EXPECT_EQ(native.options.sampling.penalty_window, 9);
  EXPECT_TRUE(native.options.ignore_end);
  EXPECT_FALSE(native.cache_prompt);
  EXPECT_EQ(native.slot, 1);
  EXPECT_EQ(native.top_logprobs, 2);
  const auto plain = parse(Dialect::completions, R"({"model": "any", "prompt": "a", "max_tokens": 7,
      "temperature": 0, "seed": 5, "stop": "x", "logprobs": 2, "n": 2, "user": "me", "best_of": null,
      "frequency_penalty": 0, "stream": true, "stream_options": {"include_usage": true}})");
  EXPECT_EQ(plain.options.max_tokens, 7);
  EXPECT_EQ(plain.choices, 2);
  EXPECT_TRUE(plain.include_usage);
  EXPECT_THAT(plain.options.stop, ElementsAre("x"));
  EXPECT_EQ(plain.top_logprobs, 2);
  const auto chat = parse(Dialect::chat, R"({"messages": [{"role": "system", "content": "s"},
      {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}],
      "max_completion_tokens": 7, "logprobs": true, "top_logprobs": 2, "stop": "x",
      "response_format": {"type": "text"}, "tools": []})");
  EXPECT_EQ(chat.prompts[0].text, "s\n\nUser: ab\nAssistant:");
  EXPECT_THAT(chat.options.stop, ElementsAre("\nUser:", "x"));
  EXPECT_EQ(chat.top_logprobs, 2);
  EXPECT_EQ(chat.options.max_tokens, 7);
}

TEST(GenerationRequest, PromptsAreTextsOrTokensOrSeveral) {
  EXPECT_THAT(parse(Dialect::native, R"({"prompt": [1, 255]})").prompts[0].tokens, ElementsAre(1, 255));
  const auto both = parse(Dialect::completions, R"({"prompt": ["a", [2, 3]]})").prompts;
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[0].text, "a");
  EXPECT_THAT(both[1].tokens, ElementsAre(2, 3));
  EXPECT_THAT(refusal_of(Dialect::native, R"({"prompt": [1, 256]})"),
              HasSubstr("prompt holds 256, expected tokens from 0 to 255"));
  EXPECT_THAT(refusal_of(Dialect::native, R"({"prompt": [1, -1]})"), HasSubstr("prompt holds -1"));
  EXPECT_THAT(refusal_of(Dialect::native, R"({"prompt": [1.5]})"), HasSubstr("prompt holds 1.5"));
  EXPECT_THAT(refusal_of(Dialect::native, R"({"prompt": {"a": 1}})"),
              HasSubstr("expected a string or a list"));
  EXPECT_THAT(refusal_of(Dialect::native, R"({})"), HasSubstr("no \"prompt\""));
  EXPECT_THAT(refusal_of(Dialect::native, R"({"prompt": ["a","b","c","d","e"]})"), HasSubstr("at most 4"));
}

TEST(GenerationRequest, WithoutWordsTheServersLimitCountsAndSeedsDiffer) {
  const auto one = parse(Dialect::native, R"({"prompt": "a"})"),
             two = parse(Dialect::native, R"({"prompt": "a"})");
  EXPECT_EQ(one.options.max_tokens, 100);
  EXPECT_EQ(parse(Dialect::native, R"({"prompt": "a", "n_predict": -1})").options.max_tokens, 100);
  EXPECT_NE(one.options.sampling.seed, two.options.sampling.seed);
  EXPECT_EQ(parse(Dialect::native, R"({"prompt": "a", "n_predict": 0})").options.max_tokens, 0);
}

TEST(GenerationRequest, WhatWouldChangeTheTextAndIsNotHereIsRefused) {
  for (const char* field : {R"("best_of": 3)",
                            R"("suffix": "x")",
                            R"("logit_bias": {"5": 1})",
                            R"("frequency_penalty": 0.5)",
                            R"("presence_penalty": 1)",
                            R"("grammar": "root")",
                            R"("min_p": 0.1)",
                            R"("mirostat": 2)",
                            R"("n": 9)",
                            R"("temperature": -1)",
                            R"("top_p": 0)",
                            R"("max_tokens": 101)",
                            R"("stop": [""])",
                            R"("stop": 5)",
                            R"("echo": true, "logprobs": 1)",
                            R"("logprobs": true)",
                            R"("stream": "yes")",
                            R"("nonsense": 1)",
                            R"("stream_options": {"x": 1})",
                            R"("n": 2, "save_memory": "m")",
                            R"("n": 2, "id_slot": 0)",
                            R"("seed": "x")"}) {
    const std::string body = std::string(R"({"prompt": "a", )") + field + "}";
    EXPECT_NE(refusal_of(Dialect::completions, body.c_str()), "") << field;
  }
  for (const char* field : {R"("tools": [{"type": "function"}])", R"("tool_choice": "required")",
                            R"("response_format": {"type": "json_object"})", R"("modalities": ["audio"])",
                            R"("top_logprobs": 2)", R"("reasoning_effort": "high")", R"("store": true)"}) {
    const std::string body =
        std::string(R"({"messages": [{"role": "user", "content": "a"}], )") + field + "}";
    EXPECT_NE(refusal_of(Dialect::chat, body.c_str()), "") << field;
  }
}

TEST(GenerationRequest, MessagesAreChecked) {
  const auto with = [](const char* messages) {
    return refusal_of(Dialect::chat, (std::string(R"({"messages": )") + messages + "}").c_str());
  };
  EXPECT_THAT(with("[]"), HasSubstr("at least one message"));
  EXPECT_THAT(with("\"hello\""), HasSubstr("messages is \"hello\""));
  EXPECT_THAT(with(R"([{"role": "robot", "content": "a"}])"), HasSubstr("messages[0].role is \"robot\""));
  EXPECT_THAT(with(R"([{"role": "user"}])"), HasSubstr("messages[0] has no \"content\""));
  EXPECT_THAT(with(R"([{"content": "a"}])"), HasSubstr("messages[0] has no \"role\""));
  EXPECT_THAT(with(R"([{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}])"),
              HasSubstr("this model reads text alone"));
}

}  // namespace
}  // namespace lact::tasks::lm
