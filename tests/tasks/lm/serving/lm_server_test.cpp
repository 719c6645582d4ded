// The server as its clients see it.
#include "lact/tasks/lm/serving/lm_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "lact/tasks/lm/session.h"
#include "support/places.h"
#include "support/served_lm.h"

namespace lact::tasks::lm {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using testing::ServedLm;
using ::testing::StartsWith;
using testing::TinyLmFolder;

const std::string kPrompt = "It was a dark and stormy night in the chunk.";

json greedy_body(const std::string& prompt, int tokens = 12) {
  return {{"prompt", prompt}, {"max_tokens", tokens}, {"temperature", 0}, {"ignore_eos", true}};
}

/// The token numbers that the native answer gives.
json tokens_of(const ServedLm& served, json body) {
  body["return_tokens"] = true;
  const auto answer = served.client().post("/completion", body);
  EXPECT_EQ(answer.status, 200) << answer.body;
  return answer.json()["tokens"];
}

TEST(LmServer, WritesWhatASessionWritesInEveryDialect) {
  ServedLm served;
  Session session(served.lm());
  models::GenerateOptions options;
  options.max_tokens = 12;
  options.sampling.temperature = 0;
  options.ignore_end = true;
  const auto expected = session.write(kPrompt, options);
  EXPECT_EQ(tokens_of(served, greedy_body(kPrompt)), json(expected.tokens));
  const auto native = served.client().post("/completion", greedy_body(kPrompt)).json();
  const auto plain = served.client().post("/v1/completions", greedy_body(kPrompt)).json();
  EXPECT_EQ(plain["choices"][0]["text"], native["content"]);
  EXPECT_EQ(plain["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(plain["object"], "text_completion");
  EXPECT_EQ(plain["model"], "tiny");
  EXPECT_EQ(native["stop_type"], "limit");
  EXPECT_EQ(native["tokens_predicted"], 12);
  const json messages = json::array({{{"role", "user"}, {"content", "Who?"}}});
  const auto prompt = served.client().post("/apply-template", {{"messages", messages}}).json()["prompt"];
  EXPECT_EQ(prompt, "User: Who?\nAssistant:");
  json chat = greedy_body("");
  chat.erase("prompt");
  chat["messages"] = messages;
  const auto said = served.client().post("/v1/chat/completions", chat).json();
  EXPECT_EQ(said["object"], "chat.completion");
  EXPECT_EQ(said["choices"][0]["message"]["role"], "assistant");
  EXPECT_EQ(said["choices"][0]["message"]["content"],
            served.client().post("/completion", greedy_body(prompt)).json()["content"]);
}

TEST(LmServer, AStreamBringsTheSameTextInPieces) {
  ServedLm served;
  json body = greedy_body(kPrompt, 40);
  const auto whole = served.client().post("/v1/completions", body).json();
  body["stream"] = true;
  body["stream_options"] = {{"include_usage", true}};
  body["return_progress"] = true;
  const auto answer = served.client().post("/v1/completions", body);
  EXPECT_THAT(answer.content_type, StartsWith("text/event-stream"));
  EXPECT_TRUE(answer.done());
  std::string text;
  int pieces = 0, progress = 0;
  for (const auto& event : answer.events()) {
    if (event.contains("prompt_progress")) ++progress;
    if (event["choices"].empty()) continue;
    text += event["choices"][0]["text"];
    ++pieces;
  }
  EXPECT_EQ(text, whole["choices"][0]["text"]);
  EXPECT_GT(pieces, 10);
  EXPECT_GT(progress, 0);
  EXPECT_EQ(answer.events().back()["usage"]["completion_tokens"], 40);
  json native = greedy_body(kPrompt, 40);
  native["stream"] = true;
  const auto events = served.client().post("/completion", native).events();
  text.clear();
  for (const auto& event : events) text += event["content"];
  EXPECT_EQ(text, whole["choices"][0]["text"]);
  EXPECT_TRUE(events.back()["stop"]);
  EXPECT_FALSE(events.front()["stop"]);
}

TEST(LmServer, ChoicesAreTheTextsOfConsecutiveSeedsAndThePromptIsReadOnce) {
  ServedLm served;
  json body = {{"prompt", kPrompt}, {"max_tokens", 10}, {"temperature", 1.5},   {"ignore_eos", true},
               {"seed", 40},        {"n", 3},           {"return_tokens", true}};
  const auto together = served.client().post("/v1/completions", body).json();
  ASSERT_EQ(together["choices"].size(), 3U);
  EXPECT_EQ(together["usage"]["prompt_tokens"], kPrompt.size());
  EXPECT_EQ(together["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
  EXPECT_EQ(together["usage"]["completion_tokens"], 30);
  EXPECT_EQ(served.server().engine().status().prompt_tokens, int64_t(kPrompt.size()));
  for (int i = 0; i < 3; ++i) {
    json alone = body;
    alone["n"] = 1;
    alone["seed"] = 40 + i;
    alone["cache_prompt"] = false;
    EXPECT_EQ(together["choices"][size_t(i)]["tokens"],
              served.client().post("/v1/completions", alone).json()["choices"][0]["tokens"]);
  }
  EXPECT_NE(together["choices"][0]["tokens"], together["choices"][1]["tokens"]);
  body["prompt"] = json::array({"one ", "two "});
  body["n"] = 2;
  body["echo"] = true;
  const auto echoed = served.client().post("/v1/completions", body).json();
  ASSERT_EQ(echoed["choices"].size(), 4U);
  EXPECT_THAT(echoed["choices"][1]["text"].get<std::string>(), StartsWith("one "));
  EXPECT_THAT(echoed["choices"][2]["text"].get<std::string>(), StartsWith("two "));
}

TEST(LmServer, CachedTokensAreThoseThatWereNotReadAgain) {
  ServedLm served;
  const auto usage = [&](const std::string& prompt) {
    const int64_t before = served.server().engine().status().prompt_tokens;
    const auto answer = served.client().post("/v1/completions", greedy_body(prompt)).json();
    const int64_t cached = answer["usage"]["prompt_tokens_details"]["cached_tokens"];
    EXPECT_EQ(answer["usage"]["prompt_tokens"], prompt.size());
    EXPECT_EQ(served.server().engine().status().prompt_tokens - before, int64_t(prompt.size()) - cached);
    EXPECT_EQ(answer["timings"]["cache_n"], cached);
    return std::pair(cached, answer["choices"][0]["text"].get<std::string>());
  };
  const auto cold = usage(kPrompt), warm = usage(kPrompt), longer = usage(kPrompt + " And more.");
  EXPECT_EQ(cold.first, 0);
  EXPECT_GE(warm.first, int64_t(kPrompt.size()) - 16) << "no more than the unfinished chunk is read again";
  EXPECT_EQ(warm.second, cold.second);
  EXPECT_GE(longer.first, 32);
  json uncached = greedy_body(kPrompt);
  uncached["cache_prompt"] = false;
  EXPECT_EQ(served.client().post("/completion", uncached).json()["timings"]["cache_n"], 0);
}

TEST(LmServer, ProbabilitiesAreThoseOfTheModel) {
  ServedLm served;
  json body = greedy_body(kPrompt, 5);
  body["n_probs"] = 256;
  EXPECT_THAT(served.client().post("/completion", body).sentence(), HasSubstr("n_probs is 256"));
  body["n_probs"] = 4;
  const auto native = served.client().post("/completion", body).json()["completion_probabilities"];
  ASSERT_EQ(native.size(), 5U);
  for (const auto& token : native) {
    ASSERT_EQ(token["top_logprobs"].size(), 4U);
    EXPECT_EQ(token["id"], token["top_logprobs"][0]["id"]) << "the likeliest was taken";
    EXPECT_LE(token["logprob"].get<double>(), 0);
    EXPECT_GE(token["top_logprobs"][0]["logprob"], token["top_logprobs"][1]["logprob"]);
  }
  body.erase("n_probs");
  body["logprobs"] = 4;
  const auto plain = served.client().post("/v1/completions", body).json()["choices"][0]["logprobs"];
  EXPECT_EQ(plain["token_logprobs"][2], native[2]["logprob"]);
  EXPECT_EQ(plain["text_offset"][2], 2);
  EXPECT_EQ(plain["tokens"].size(), 5U);
}

TEST(LmServer, AStopWordEndsTheTextBeforeIt) {
  ServedLm served;
  const std::string text = served.client().post("/completion", greedy_body(kPrompt, 60)).json()["content"];
  // A letter, since half of what this model writes is no text; not among the first.
  const auto is_letter = [&](char c) { return c > ' ' && c < 127 && text.find(c) > 8; };
  const auto found = std::find_if(text.begin(), text.end(), is_letter);
  ASSERT_NE(found, text.end());
  const std::string stop(1, *found);
  json body = greedy_body(kPrompt, 60);
  body["stop"] = json::array({"never this", stop});
  const auto stopped = served.client().post("/completion", body).json();
  EXPECT_EQ(stopped["content"], text.substr(0, text.find(stop)));
  EXPECT_EQ(stopped["stop_type"], "word");
  EXPECT_EQ(stopped["stopping_word"], stop);
  EXPECT_EQ(served.client().post("/v1/completions", body).json()["choices"][0]["finish_reason"], "stop");
}

TEST(LmServer, ManyClientsAtOnceGetWhatEachGetsAlone) {
  ServedLm served({.slots = 3});
  std::vector<json> bodies, alone(12), together(12);
  for (size_t i = 0; i < 12; ++i) {
    json body = {{"prompt", kPrompt + std::string(i * 3, char('a' + i))},
                 {"max_tokens", 5 + i},
                 {"temperature", 1},
                 {"ignore_eos", true},
                 {"seed", 7 + i},
                 {"cache_prompt", i % 2 == 0}};
    bodies.push_back(body);
    alone[i] = tokens_of(served, body);
  }
  std::vector<std::thread> clients;
  for (size_t i = 0; i < 12; ++i)
    clients.emplace_back([&, i] { together[i] = tokens_of(served, bodies[i]); });
  for (auto& client : clients) client.join();
  EXPECT_EQ(together, alone);
}

TEST(LmServer, TellsOfItself) {
  ServedLm served({.alias = "my model"});
  const auto client = served.client();
  EXPECT_EQ(client.get("/health").json()["status"], "ok");
  EXPECT_EQ(client.get("/v1/health").status, 200);
  EXPECT_EQ(client.get("/v1/models").json()["data"][0]["id"], "my model");
  EXPECT_EQ(client.get("/models").json()["data"][0]["meta"]["n_vocab"], 256);
  const auto props = client.get("/props").json();
  EXPECT_EQ(props["total_slots"], 8);
  EXPECT_EQ(props["memory"]["key_value_bytes_per_token"], 2 * 2 * 16 * 4);
  EXPECT_EQ(client.get("/slots").json().size(), 8U);
  client.post("/completion", greedy_body(kPrompt));
  const std::string metrics = client.get("/metrics").body;
  for (const char* line : {"# TYPE lact:prompt_tokens_total counter", "lact:tokens_predicted_total 12\n",
                           "lact:requests_processing 0\n", "lact:n_decode_total 12\n"}) {
    EXPECT_THAT(metrics, HasSubstr(line));
  }
  EXPECT_EQ(client.get("/").body, testing::read_file(testing::source_folder() + "/web/dist/chat.html"));
}

TEST(LmServer, TokensAndTextsGoBackAndForth) {
  ServedLm served;
  const auto client = served.client();
  const auto tokens =
      client.post("/tokenize", {{"content", "h\xc3\xa4"}, {"with_pieces", true}}).json()["tokens"];
  EXPECT_EQ(tokens[0], (json{{"id", 'h'}, {"piece", "h"}}));
  EXPECT_EQ(tokens[1], (json{{"id", 0xc3}, {"piece", json::array({0xc3})}})) << "half a character";
  EXPECT_EQ(client.post("/tokenize", {{"content", "ab"}}).json()["tokens"], json({97, 98}));
  EXPECT_EQ(client.post("/detokenize", {{"tokens", {104, 0xc3, 0xa4}}}).json()["content"], "h\xc3\xa4");
  EXPECT_EQ(client.post("/detokenize", {{"tokens", {1000}}}).status, 400);
  EXPECT_EQ(client.post("/tokenize", {{"content", 5}}).status, 400);
}

TEST(LmServer, MistakesAreSentencesInTheKnownForm) {
  ServedLm served;
  const auto client = served.client();
  const auto refused = client.post("/v1/completions", {{"prompt", "a"}, {"best_of", 2}});
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.json()["error"]["type"], "invalid_request_error");
  EXPECT_EQ(refused.json()["error"]["code"], 400);
  EXPECT_EQ(client.ask("POST", "/completion", "{\"prompt\": ", "").status, 400);
  EXPECT_EQ(client.ask("POST", "/completion", "", "").status, 400);
  EXPECT_EQ(client.post("/completion", {{"prompt", ""}}).status, 400);
  EXPECT_EQ(client.post("/completion", {{"prompt", "a"}, {"id_slot", 8}}).status, 400);
  EXPECT_EQ(client.post("/completion", {{"prompt", "a"}, {"memory", "none"}}).status, 404);
  EXPECT_EQ(client.get("/nothing").status, 404);
  EXPECT_EQ(client.get("/completion").status, 405);
  EXPECT_EQ(client.remove("/v1/models").status, 405);
  EXPECT_EQ(client.post("/slots/0?action=save", {{"filename", "x"}}).status, 501);
  EXPECT_THAT(client.get("/nothing").json()["error"]["type"], "not_found_error");
}

TEST(LmServer, OnlyWhoHasAKeyIsAnswered) {
  ServedLm served({.api_key = {"one", "two"}});
  EXPECT_EQ(served.client().get("/health").status, 200);
  EXPECT_EQ(served.client().get("/").status, 200);
  for (const char* path : {"/v1/models", "/props", "/slots", "/metrics", "/v1/memories"}) {
    EXPECT_EQ(served.client().get(path).status, 401) << path;
    EXPECT_EQ(served.client("three").get(path).status, 401) << path;
    EXPECT_EQ(served.client("two").get(path).status, 200) << path;
  }
  const auto refused = served.client().post("/completion", greedy_body("a"));
  EXPECT_EQ(refused.json()["error"]["type"], "authentication_error");
  EXPECT_EQ(served.client("one").post("/completion", greedy_body("a")).status, 200);
}

}  // namespace
}  // namespace lact::tasks::lm
