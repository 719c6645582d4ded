#include "lact/tasks/lm/engine/engine.h"

#include "lact/base/error.h"
#include "lact/tasks/lm/engine/engine_loop.h"

namespace lact::tasks::lm {

namespace {

void check(const TextRequest& request, const Loaded& lm) {
  request.options.check();
  LACT_CHECK(!request.prompt.empty() || request.from,
             "[engine] there is neither a prompt nor a state to continue from");
  LACT_CHECK(!request.from || request.from->model == lm.model, "[engine] the state is of another model");
  LACT_CHECK(request.top_logprobs >= -1, "[engine] top_logprobs is {}, expected -1 or more",
             request.top_logprobs);
  const int64_t vocabulary = lm.model->config().vocabulary_size;
  for (const int64_t token : request.prompt) {
    LACT_CHECK(token >= 0 && token < vocabulary,
               "[engine] token {} is outside of the model's vocabulary of {}", token, vocabulary);
  }
}

}  // namespace

void EngineOptions::check() const {
  LACT_CHECK(slots >= 1, "[engine] slots is {}, expected at least 1", slots);
  LACT_CHECK(prompt_piece >= 1, "[engine] prompt_piece is {}, expected at least 1", prompt_piece);
  LACT_CHECK(draft_tokens >= 0, "[engine] draft_tokens is {}, expected 0 or more", draft_tokens);
}

Engine::Engine(Loaded lm, const EngineOptions& options, std::optional<Loaded> draft) {
  options.check();
  if (draft) check_draft(*draft, lm);
  loop_ = std::make_unique<Loop>(std::move(lm), options, std::move(draft));
}

Engine::~Engine() = default;

Engine::Ticket Engine::submit(TextRequest request, TextEvents events) {
  check(request, lm());
  return loop_->submit(std::move(request), std::move(events));
}

void Engine::cancel(Ticket ticket) { loop_->cancel(ticket); }

EngineStatus Engine::status() const { return loop_->status(); }

const Loaded& Engine::lm() const { return loop_->lm(); }

StateStore& Engine::store() { return loop_->store(); }

TextState Engine::slot_state(int64_t slot) { return loop_->slot_state(slot); }

void Engine::set_slot_state(int64_t slot, const TextState& state) { loop_->set_slot_state(slot, state); }

}  // namespace lact::tasks::lm
