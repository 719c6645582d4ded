// The answers of /v1/completions and /v1/chat/completions, as OpenAI's clients expect them.
#include "lact/tasks/lm/serving/answer_form.h"

namespace lact::tasks::lm {

namespace {

class OpenAiForm : public AnswerForm {
 public:
  using AnswerForm::AnswerForm;

  ApiJson whole(const std::vector<ChoiceText>& choices) const override {
    ApiJson list = ApiJson::array();
    for (const ChoiceText& choice : choices) {
      ApiJson json = {{"index", choice.index}};
      const std::string text = prompt_to_echo(choice) + choice.text;
      if (is_chat()) {
        json["message"] = {{"role", "assistant"}, {"content", text}};
      } else {
        json["text"] = text;
      }
      json["logprobs"] = logprobs(choice.tokens, 0);
      json["finish_reason"] = finish_reason(choice.outcome);
      if (request_.return_tokens) {
        json["tokens"] = ApiJson::array();
        for (const WrittenToken& each : choice.tokens) json["tokens"].push_back(each.token);
      }
      list.push_back(std::move(json));
    }
    ApiJson answer = frame(is_chat() ? "chat.completion" : "text_completion", std::move(list));
    answer["usage"] = usage_json(choices);
    answer["state"] = state_json(choices.front().outcome);
    answer["timings"] = timings_json(choices.front().outcome);
    return answer;
  }

  std::vector<ApiJson> opening(const ChoiceText& choice) const override {
    if (is_chat()) return {event(choice, {{"role", "assistant"}, {"content", ""}}, nullptr, nullptr)};
    if (!request_.echo) return {};
    return {event(choice, prompt_to_echo(choice), nullptr, nullptr)};
  }

  ApiJson piece(const ChoiceText& choice, const std::string& text,
                std::span<const WrittenToken> tokens) const override {
    const ApiJson content = is_chat() ? ApiJson{{"content", text}} : ApiJson(text);
    ApiJson json = event(choice, content, logprobs(tokens, choice.text.size() - text.size()), nullptr);
    if (request_.return_tokens) {
      json["tokens"] = ApiJson::array();
      for (const WrittenToken& each : tokens) json["tokens"].push_back(each.token);
    }
    return json;
  }

  ApiJson progress(const ChoiceText& choice, const ApiJson& prompt_progress) const override {
    const ApiJson content = is_chat() ? ApiJson::object() : ApiJson("");
    ApiJson json = event(choice, content, nullptr, nullptr);
    json["prompt_progress"] = prompt_progress;
    return json;
  }

  ApiJson closing(const ChoiceText& choice) const override {
    const ApiJson content = is_chat() ? ApiJson::object() : ApiJson("");
    ApiJson json = event(choice, content, nullptr, finish_reason(choice.outcome));
    json["state"] = state_json(choice.outcome);
    json["timings"] = timings_json(choice.outcome);
    return json;
  }

  std::vector<ApiJson> last(const std::vector<ChoiceText>& choices) const override {
    if (!request_.include_usage) return {};
    ApiJson json = frame(stream_object(), ApiJson::array());
    json["usage"] = usage_json(choices);
    return {json};
  }

  std::string end_mark() const override { return "data: [DONE]\n\n"; }

 private:
  bool is_chat() const { return request_.dialect == Dialect::chat; }
  const char* stream_object() const { return is_chat() ? "chat.completion.chunk" : "text_completion"; }

  std::string prompt_to_echo(const ChoiceText& choice) const {
    if (!request_.echo) return "";
    const Prompt& prompt = request_.prompts[choice.prompt];
    if (prompt.is_text) return prompt.text;
    std::string text;
    for (const int64_t token : prompt.tokens) text += token_text(token);
    return text;
  }

  static ApiJson finish_reason(const TextOutcome& outcome) {
    return outcome.reason == TextOutcome::length ? "length" : "stop";
  }

  ApiJson frame(const char* object, ApiJson choices) const {
    return {{"id", facts_.id},
            {"object", object},
            {"created", facts_.created},
            {"model", facts_.model},
            {"choices", std::move(choices)}};
  }

  ApiJson event(const ChoiceText& choice, const ApiJson& content, const ApiJson& logprobs,
                const ApiJson& reason) const {
    ApiJson json = {{"index", choice.index}, {is_chat() ? "delta" : "text", content}};
    json["logprobs"] = logprobs;
    json["finish_reason"] = reason;
    return frame(stream_object(), ApiJson::array({std::move(json)}));
  }

  /// `offset`: where the first of the tokens begins in the text.
  ApiJson logprobs(std::span<const WrittenToken> tokens, size_t offset) const {
    if (request_.top_logprobs < 0) return nullptr;
    if (is_chat()) return {{"content", token_logprobs(tokens, false)}};
    ApiJson json = {{"tokens", ApiJson::array()},
                    {"token_logprobs", ApiJson::array()},
                    {"top_logprobs", ApiJson::array()},
                    {"text_offset", ApiJson::array()}};
    for (const WrittenToken& each : tokens) {
      const std::string text = token_text(each.token);
      json["tokens"].push_back(text);
      json["token_logprobs"].push_back(each.logprob);
      json["text_offset"].push_back(offset);
      offset += text.size();
      ApiJson top = ApiJson::object();
      for (const auto& [token, logprob] : each.top) top[token_text(token)] = logprob;
      json["top_logprobs"].push_back(std::move(top));
    }
    return json;
  }
};

}  // namespace

std::unique_ptr<AnswerForm> make_openai_form(const GenerationRequest& request, AnswerFacts facts) {
  return std::make_unique<OpenAiForm>(request, std::move(facts));
}

}  // namespace lact::tasks::lm
