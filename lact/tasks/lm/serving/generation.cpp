#include "lact/tasks/lm/serving/generation.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <random>

namespace lact::tasks::lm {

namespace {

std::string new_answer_id(Dialect dialect) {
  static std::atomic<uint64_t> number = std::random_device()();
  const char* kind = dialect == Dialect::chat ? "chatcmpl" : "cmpl";
  return fmt::format("{}-{:016x}", kind, ++number * 0x9e3779b97f4a7c15U);
}

int64_t created_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Generation::Generation(ServingParts& parts, GenerationRequest request, serve::HttpReply reply)
    : LongAnswer(parts.engine, std::move(reply), request.stream, parts.options.request_seconds),
      parts_(parts),
      request_(std::move(request)),
      form_(make_answer_form(
          request_, {new_answer_id(request_.dialect), parts.model_name, created_now(), parts.lm.tokenizer})) {
}

void Generation::start() {
  if (!request_.save_memory.empty()) check_memory_name(request_.save_memory, "save_memory");
  if (request_.slot >= parts_.options.slots) {
    refuse_request(400, "id_slot is {}, expected a slot from 0 to {}", request_.slot,
                   parts_.options.slots - 1);
  }
  if (!request_.memory.empty()) from_ = parts_.shelf.get(request_.memory);
  for (const Prompt& prompt : request_.prompts) {
    prompts_.push_back(prompt.is_text ? encoded(parts_.lm, prompt.text, from_ != nullptr) : prompt.tokens);
    if (prompts_.back().empty() && !from_) {
      refuse_request(400, "The prompt is empty: there is nothing to continue");
    }
  }
  const auto count = size_t(request_.choices) * prompts_.size();
  choices_.resize(count);
  read_for_all_.resize(prompts_.size());
  for (size_t i = 0; i < count; ++i) {
    choices_[i].text.index = i;
    choices_[i].text.prompt = i / size_t(request_.choices);
  }
  parts_.long_answers.add(shared_from_this());
  watch_client();
  const bool several = request_.choices > 1 && request_.cache_prompt && !from_;
  for (size_t prompt = 0; prompt < prompts_.size(); ++prompt) {
    several ? read_for_all(prompt) : begin_choices(prompt);
  }
}

TextRequest Generation::text_request(size_t index) const {
  TextRequest text;
  text.prompt = prompts_[choices_[index].text.prompt];
  text.from = from_;
  text.use_store = request_.cache_prompt;
  text.options = request_.options;
  text.options.sampling.seed += int64_t(index) % request_.choices;
  text.top_logprobs = request_.top_logprobs;
  text.slot = request_.slot;
  return text;
}

TextEvents Generation::events_of(size_t index) {
  TextEvents events;
  events.progress = [self = self(), index](int64_t total, int64_t cached, int64_t processed) {
    self->on_progress(index, total, cached, processed);
  };
  events.wrote = [self = self(), index](const std::string& bytes, std::span<const WrittenToken> tokens) {
    self->on_wrote(index, bytes, tokens);
  };
  events.finished = [self = self(), index](const TextOutcome& outcome) { self->on_finished(index, outcome); };
  return events;
}

void Generation::read_for_all(size_t prompt) {
  TextRequest reading = text_request(prompt * size_t(request_.choices));
  reading.options.max_tokens = 0;
  TextEvents events;
  events.finished = [self = self(), prompt](const TextOutcome& outcome) {
    if (outcome.reason == TextOutcome::failed) return self->give_up(500, outcome.error);
    if (outcome.reason == TextOutcome::cancelled) return self->give_up(503, "The text was cancelled.");
    self->read_for_all_[prompt] = outcome;
    self->parts_.work.push([self, prompt] {
      try {
        self->begin_choices(prompt);
      } catch (const std::exception& error) {
        self->give_up(500, error.what());
      }
    });
  };
  submit(std::move(reading), std::move(events));
}

void Generation::begin_choices(size_t prompt) {
  const auto first = prompt * size_t(request_.choices);
  for (size_t i = first; i < first + size_t(request_.choices); ++i) submit(text_request(i), events_of(i));
}

TextOutcome Generation::counted(TextOutcome outcome, size_t prompt) const {
  if (const auto& reading = read_for_all_[prompt]) {
    outcome.cached_tokens = reading->cached_tokens;
    outcome.prompt_seconds += reading->prompt_seconds;
  }
  const int64_t before = from_ ? from_->position() : 0;
  outcome.prompt_tokens += before;
  outcome.cached_tokens += before;
  return outcome;
}

void Generation::on_progress(size_t index, int64_t total, int64_t cached, int64_t processed) {
  Choice& choice = choices_[index];
  TextOutcome so_far;
  so_far.prompt_tokens = total;
  so_far.cached_tokens = cached;
  choice.text.outcome = counted(so_far, choice.text.prompt);
  if (!streams() || !request_.return_progress) return;
  const int64_t before = choice.text.outcome.prompt_tokens - total;
  send_event(form_->progress(choice.text, {{"total", choice.text.outcome.prompt_tokens},
                                           {"cache", choice.text.outcome.cached_tokens},
                                           {"processed", processed + before},
                                           {"time_ms", int64_t(1e3 * seconds())}}));
}

void Generation::on_wrote(size_t index, const std::string& bytes, std::span<const WrittenToken> tokens) {
  Choice& choice = choices_[index];
  if (choice.text.tokens.empty()) {
    choice.text.outcome.prompt_seconds = seconds();
    if (streams()) {
      for (const ApiJson& event : form_->opening(choice.text)) send_event(event);
    }
  }
  choice.text.tokens.insert(choice.text.tokens.end(), tokens.begin(), tokens.end());
  choice.unsent.insert(choice.unsent.end(), tokens.begin(), tokens.end());
  emit(choice, choice.characters.push(bytes));
}

void Generation::emit(Choice& choice, const std::string& text) {
  choice.text.text += text;
  if (!streams()) return;
  const bool shows_tokens =
      request_.dialect == Dialect::native || request_.return_tokens || request_.top_logprobs >= 0;
  if (text.empty() && (choice.unsent.empty() || !shows_tokens)) return;
  ApiJson event = form_->piece(choice.text, text, choice.unsent);
  choice.unsent.clear();
  if (request_.timings_per_token) add_timings(event, choice);
  send_event(event);
}

void Generation::add_timings(ApiJson& event, const Choice& choice) const {
  TextOutcome so_far = choice.text.outcome;
  so_far.written_tokens = int64_t(choice.text.tokens.size());
  so_far.write_seconds = seconds() - so_far.prompt_seconds;
  event["timings"] = timings_json(so_far);
}

void Generation::on_finished(size_t index, const TextOutcome& outcome) {
  if (outcome.reason == TextOutcome::failed) return give_up(500, outcome.error);
  if (outcome.reason == TextOutcome::cancelled) return give_up(503, "The text was cancelled.");
  Choice& choice = choices_[index];
  const bool silent = choice.text.tokens.empty();  // nothing was written, not even a token
  emit(choice, choice.characters.finish());
  choice.text.outcome = counted(outcome, choice.text.prompt);
  if (streams()) {
    if (silent) {
      for (const ApiJson& event : form_->opening(choice.text)) send_event(event);
    }
    send_event(form_->closing(choice.text));
  }
  if (++num_ended_ == choices_.size()) {
    parts_.work.push([self = self()] { self->conclude(); });
  }
}

/// On a thread where files may be written.
void Generation::conclude() {
  try {
    std::vector<ChoiceText> texts;
    for (const Choice& choice : choices_) texts.push_back(choice.text);
    if (!request_.save_memory.empty()) {
      parts_.shelf.put(request_.save_memory, texts[0].outcome.state, /*replace=*/true);
    }
    if (!streams()) return send_whole(form_->whole(texts));
    for (const ApiJson& event : form_->last(texts)) send_event(event);
    end_stream(form_->end_mark());
  } catch (const ApiError& error) {
    give_up(error.status(), error.what());
  } catch (const std::exception& error) {
    give_up(500, error.what());
  }
}

}  // namespace lact::tasks::lm
