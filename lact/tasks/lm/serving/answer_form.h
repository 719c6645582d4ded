// What was written, in the words that the client's dialect has for it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lact/data/text/tokenizer.h"
#include "lact/tasks/lm/engine/engine.h"
#include "lact/tasks/lm/serving/generation_request.h"

namespace lact::tasks::lm {

/// One of the texts of an answer, as far as it has come.
struct ChoiceText {
  size_t index = 0, prompt = 0;
  std::string text;  ///< whole characters
  std::vector<WrittenToken> tokens;
  TextOutcome outcome;  ///< once it has ended
};

/// What a form has to know beside the texts.
struct AnswerFacts {
  std::string id;     ///< of the answer
  std::string model;  ///< its name
  int64_t created = 0;
  std::shared_ptr<const data::Tokenizer> tokenizer;
};

class AnswerForm {
 public:
  AnswerForm(const GenerationRequest& request, AnswerFacts facts)
      : request_(request), facts_(std::move(facts)) {}
  virtual ~AnswerForm() = default;

  /// The answer that comes at once, of texts that have ended.
  virtual ApiJson whole(const std::vector<ChoiceText>& choices) const = 0;

  // The events of a streamed one.
  virtual std::vector<ApiJson> opening(const ChoiceText& choice) const = 0;
  virtual ApiJson piece(const ChoiceText& choice, const std::string& text,
                        std::span<const WrittenToken> tokens) const = 0;
  virtual ApiJson progress(const ChoiceText& choice, const ApiJson& prompt_progress) const = 0;
  virtual ApiJson closing(const ChoiceText& choice) const = 0;
  virtual std::vector<ApiJson> last(const std::vector<ChoiceText>& choices) const = 0;
  /// What follows the last event; "" for nothing.
  virtual std::string end_mark() const = 0;

 protected:
  /// The text that stands for a token alone, which may be part of a character.
  std::string token_text(int64_t token) const;
  ApiJson token_bytes(int64_t token) const;
  /// [{"token", "logprob", "bytes", "top_logprobs": [{"token", "logprob", "bytes"}]}]; `with_id` adds "id".
  ApiJson token_logprobs(std::span<const WrittenToken> tokens, bool with_id) const;

  const GenerationRequest& request_;
  AnswerFacts facts_;
};

/// `request` must outlive the form.
std::unique_ptr<AnswerForm> make_answer_form(const GenerationRequest& request, AnswerFacts facts);

/// {"cache_n", "prompt_n", "prompt_ms", ..., "predicted_per_second"}: prompt_n counts the tokens that were
/// read, without those of the cache.
ApiJson timings_json(const TextOutcome& outcome);

/// {"tokens", "bytes"}: how much the model has read, and what it keeps of it.
ApiJson state_json(const TextOutcome& outcome);

/// {"prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details": {"cached_tokens"}}; a
/// prompt with several choices counts once.
ApiJson usage_json(const std::vector<ChoiceText>& choices);

}  // namespace lact::tasks::lm
