// A request for texts, from its words to the last byte of its answer.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "lact/data/text/utf8.h"
#include "lact/tasks/lm/serving/answer_form.h"
#include "lact/tasks/lm/serving/long_answer.h"
#include "lact/tasks/lm/serving/serving_parts.h"

namespace lact::tasks::lm {

class Generation : public LongAnswer {
 public:
  Generation(ServingParts& parts, GenerationRequest request, serve::HttpReply reply);

  /// Throws what is wrong with the request; from then on the answer is on its way.
  void start();

 private:
  struct Choice {
    ChoiceText text;
    data::Utf8Stream characters;
    std::vector<WrittenToken> unsent;  ///< tokens that no event has told of
  };

  std::shared_ptr<Generation> self() { return std::static_pointer_cast<Generation>(shared_from_this()); }
  TextEvents events_of(size_t index);
  TextRequest text_request(size_t index) const;
  /// A prompt of several choices is read once, and what it left behind is found by all of them.
  void read_for_all(size_t prompt);
  void begin_choices(size_t prompt);
  /// Of a text that continues a memory, whose tokens count as read before.
  TextOutcome counted(TextOutcome outcome, size_t prompt) const;

  // On the engine's thread.
  void on_progress(size_t index, int64_t total, int64_t cached, int64_t processed);
  void on_wrote(size_t index, const std::string& bytes, std::span<const WrittenToken> tokens);
  void on_finished(size_t index, const TextOutcome& outcome);
  void emit(Choice& choice, const std::string& text);
  void conclude();
  void add_timings(ApiJson& event, const Choice& choice) const;

  ServingParts& parts_;
  const GenerationRequest request_;
  std::unique_ptr<AnswerForm> form_;
  TextState from_;
  std::vector<std::vector<int64_t>> prompts_;
  std::vector<Choice> choices_;  // each is touched by the engine's thread alone once its text has begun
  std::vector<std::optional<TextOutcome>> read_for_all_;  // by prompt
  size_t num_ended_ = 0;
};

}  // namespace lact::tasks::lm
