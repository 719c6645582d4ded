#include "lact/tasks/lm/serving/answer_form.h"

#include <algorithm>
#include <set>

namespace lact::tasks::lm {

std::unique_ptr<AnswerForm> make_native_form(const GenerationRequest& request, AnswerFacts facts);
std::unique_ptr<AnswerForm> make_openai_form(const GenerationRequest& request, AnswerFacts facts);

std::unique_ptr<AnswerForm> make_answer_form(const GenerationRequest& request, AnswerFacts facts) {
  return request.dialect == Dialect::native ? make_native_form(request, std::move(facts))
                                            : make_openai_form(request, std::move(facts));
}

std::string AnswerForm::token_text(int64_t token) const {
  // A model may have more tokens than its tokenizer, for padding.
  return token < facts_.tokenizer->vocabulary_size() ? facts_.tokenizer->token_bytes(int32_t(token)) : "";
}

ApiJson AnswerForm::token_bytes(int64_t token) const {
  ApiJson bytes = ApiJson::array();
  for (const char byte : token_text(token)) bytes.push_back(int(uint8_t(byte)));
  return bytes;
}

ApiJson AnswerForm::token_logprobs(std::span<const WrittenToken> tokens, bool with_id) const {
  const auto entry = [&](int64_t token, float logprob) {
    ApiJson json = ApiJson::object();
    if (with_id) json["id"] = token;
    json["token"] = token_text(token);
    json["logprob"] = logprob;
    json["bytes"] = token_bytes(token);
    return json;
  };
  ApiJson list = ApiJson::array();
  for (const WrittenToken& each : tokens) {
    ApiJson json = entry(each.token, each.logprob);
    json["top_logprobs"] = ApiJson::array();
    for (const auto& [token, logprob] : each.top) json["top_logprobs"].push_back(entry(token, logprob));
    list.push_back(std::move(json));
  }
  return list;
}

ApiJson timings_json(const TextOutcome& outcome) {
  const int64_t read = outcome.prompt_tokens - outcome.cached_tokens, written = outcome.written_tokens;
  const auto per = [](double amount, double count) { return count > 0 ? amount / count : 0.0; };
  ApiJson json = {{"cache_n", outcome.cached_tokens},
                  {"prompt_n", read},
                  {"prompt_ms", 1e3 * outcome.prompt_seconds},
                  {"prompt_per_token_ms", per(1e3 * outcome.prompt_seconds, double(read))},
                  {"prompt_per_second", per(double(read), outcome.prompt_seconds)},
                  {"predicted_n", written},
                  {"predicted_ms", 1e3 * outcome.write_seconds},
                  {"predicted_per_token_ms", per(1e3 * outcome.write_seconds, double(written))},
                  {"predicted_per_second", per(double(written), outcome.write_seconds)}};
  if (outcome.draft_tokens > 0) {
    json["draft_n"] = outcome.draft_tokens;
    json["draft_n_accepted"] = outcome.draft_accepted;
  }
  return json;
}

ApiJson state_json(const TextOutcome& outcome) {
  if (!outcome.state) return nullptr;
  return {{"tokens", outcome.state->position()}, {"bytes", outcome.state->bytes()}};
}

ApiJson usage_json(const std::vector<ChoiceText>& choices) {
  int64_t prompt = 0, cached = 0, written = 0;
  std::set<size_t> counted;
  for (const ChoiceText& choice : choices) {
    written += choice.outcome.written_tokens;
    if (!counted.insert(choice.prompt).second) continue;
    prompt += choice.outcome.prompt_tokens;
    cached += choice.outcome.cached_tokens;
  }
  return {{"prompt_tokens", prompt},
          {"completion_tokens", written},
          {"total_tokens", prompt + written},
          {"prompt_tokens_details", {{"cached_tokens", cached}}}};
}

}  // namespace lact::tasks::lm
