// The answers of /completion, as llama.cpp gives them.
#include "lact/tasks/lm/serving/answer_form.h"

namespace lact::tasks::lm {

namespace {

const char* native_stop_type(const TextOutcome& outcome) {
  switch (outcome.reason) {
    case TextOutcome::end_of_text:
      return "eos";
    case TextOutcome::stop_string:
      return "word";
    case TextOutcome::length:
      return "limit";
    default:
      return "none";
  }
}

class NativeForm : public AnswerForm {
 public:
  using AnswerForm::AnswerForm;

  ApiJson whole(const std::vector<ChoiceText>& choices) const override {
    if (choices.size() == 1) return ended(choices[0], true);
    ApiJson list = ApiJson::array();
    for (const ChoiceText& choice : choices) list.push_back(ended(choice, true));
    return list;
  }

  std::vector<ApiJson> opening(const ChoiceText&) const override { return {}; }

  ApiJson piece(const ChoiceText& choice, const std::string& text,
                std::span<const WrittenToken> tokens) const override {
    ApiJson json = {{"index", choice.index},
                    {"content", text},
                    {"tokens", token_numbers(tokens)},
                    {"stop", false},
                    {"tokens_predicted", choice.tokens.size()}};
    if (request_.top_logprobs >= 0) json["completion_probabilities"] = token_logprobs(tokens, true);
    return json;
  }

  ApiJson progress(const ChoiceText& choice, const ApiJson& prompt_progress) const override {
    return {{"index", choice.index},
            {"content", ""},
            {"tokens", ApiJson::array()},
            {"stop", false},
            {"prompt_progress", prompt_progress}};
  }

  ApiJson closing(const ChoiceText& choice) const override { return ended(choice, false); }
  std::vector<ApiJson> last(const std::vector<ChoiceText>&) const override { return {}; }
  std::string end_mark() const override { return ""; }

 private:
  static ApiJson token_numbers(std::span<const WrittenToken> tokens) {
    ApiJson list = ApiJson::array();
    for (const WrittenToken& each : tokens) list.push_back(each.token);
    return list;
  }

  ApiJson ended(const ChoiceText& choice, bool with_text) const {
    const TextOutcome& outcome = choice.outcome;
    ApiJson json = {
        {"index", choice.index},
        {"content", with_text ? choice.text : ""},
        {"tokens", with_text && request_.return_tokens ? token_numbers(choice.tokens) : ApiJson::array()},
        {"id_slot", outcome.slot},
        {"stop", true},
        {"model", facts_.model},
        {"tokens_predicted", outcome.written_tokens},
        {"tokens_evaluated", outcome.prompt_tokens},
        {"tokens_cached", outcome.cached_tokens},
        {"generation_settings", generation_settings(request_.options)},
        {"truncated", false},
        {"stop_type", native_stop_type(outcome)},
        {"stopping_word", outcome.stopping_word},
        {"state", state_json(outcome)},
        {"timings", timings_json(outcome)}};
    json["generation_settings"]["seed"] =
        request_.options.sampling.seed + int64_t(choice.index) % request_.choices;
    if (request_.top_logprobs >= 0 && with_text) {
      json["completion_probabilities"] = token_logprobs(choice.tokens, true);
    }
    return json;
  }
};

}  // namespace

std::unique_ptr<AnswerForm> make_native_form(const GenerationRequest& request, AnswerFacts facts) {
  return std::make_unique<NativeForm>(request, std::move(facts));
}

}  // namespace lact::tasks::lm
