#include "lact/tasks/lm/engine/engine_loop.h"

#include <algorithm>

#include "lact/base/error.h"
#include "lact/base/one_sentence.h"

namespace lact::tasks::lm {

namespace {

std::string sentence_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return one_sentence(error);
  } catch (...) {
    return "an unknown error";
  }
}

void give_up(const auto& text) {
  TextOutcome outcome;
  outcome.reason = TextOutcome::cancelled;
  outcome.prompt_tokens = int64_t(text.request.prompt.size());
  if (text.events.finished) text.events.finished(outcome);
}

}  // namespace

Engine::Loop::Loop(Loaded lm, const EngineOptions& options, std::optional<Loaded> draft)
    : lm_(std::move(lm)),
      options_(options),
      draft_(std::move(draft)),
      store_(lm_, options.store),
      slots_(size_t(options.slots)) {
  status_.slots.resize(slots_.size());
  thread_ = std::thread([this] { run(); });
}

Engine::Loop::~Loop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

Engine::Ticket Engine::Loop::submit(TextRequest request, TextEvents events) {
  check_slot(std::max<int64_t>(0, request.slot));
  const std::lock_guard lock(mutex_);
  waiting_.push_back({++last_ticket_, std::move(request), std::move(events)});
  status_.waiting = int64_t(waiting_.size());
  wake_.notify_all();
  return last_ticket_;
}

void Engine::Loop::cancel(Ticket ticket) {
  const std::lock_guard lock(mutex_);
  if (ticket == 0 || ticket > last_ticket_) return;
  cancelled_.insert(ticket);
  wake_.notify_all();
}

EngineStatus Engine::Loop::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

void Engine::Loop::check_slot(int64_t slot) const {
  LACT_CHECK(slot >= 0 && slot < int64_t(slots_.size()), "[engine] slot {}, expected one below {}", slot,
             slots_.size());
}

TextState Engine::Loop::slot_state(int64_t slot) {
  check_slot(slot);
  std::string id;
  {
    const std::lock_guard lock(mutex_);
    id = slots_[size_t(slot)].kept;
  }
  return store_.get(id);
}

void Engine::Loop::set_slot_state(int64_t slot, const TextState& state) {
  check_slot(slot);
  if (state) {
    LACT_CHECK(store_.put(state),
               "[engine] the state has {} bytes, expected no more than store_ram_bytes ({})", state->bytes(),
               options_.store.store_ram_bytes);
  }
  std::string old;
  {
    const std::lock_guard lock(mutex_);
    Slot& place = slots_[size_t(slot)];
    old = place.kept;
    place.keep(state);
    status_.slots[size_t(slot)].kept_tokens = place.kept_tokens;
    status_.slots[size_t(slot)].kept_bytes = place.kept_bytes;
  }
  if (!state) store_.forget(old);
}

void Engine::Loop::Slot::keep(const TextState& state) {
  kept = state ? state->id : "";
  kept_tokens = state ? state->position() : 0;
  kept_bytes = state ? state->bytes() : 0;
}

SlotStatus Engine::Loop::Slot::status() const {
  SlotStatus status = text ? text->status() : SlotStatus();
  status.kept_tokens = kept_tokens;
  status.kept_bytes = kept_bytes;
  return status;
}

void Engine::Loop::run() {
  std::vector<Waiting> given_up;
  std::set<Ticket> cancelled;
  while (take_orders(given_up, cancelled)) {
    for (const auto& text : given_up) give_up(text);
    for (Slot& slot : slots_) {
      if (slot.text && cancelled.count(slot.text->ticket()) > 0) end(*slot.text, TextOutcome::cancelled);
    }
    admit();
    write_step();
    read_step();
    publish();
  }
  for (Slot& slot : slots_) {
    if (slot.text) end(*slot.text, TextOutcome::cancelled);
  }
  for (const auto& text : waiting_) give_up(text);  // nobody submits any more
}

bool Engine::Loop::take_orders(std::vector<Waiting>& given_up, std::set<Ticket>& cancelled) {
  given_up.clear();
  cancelled.clear();
  const auto idle = [&] {
    return std::none_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.text != nullptr; });
  };
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [&] { return stopping_ || !cancelled_.empty() || !waiting_.empty() || !idle(); });
  if (stopping_) return false;
  cancelled = std::exchange(cancelled_, {});
  for (auto text = waiting_.begin(); text != waiting_.end();) {
    if (cancelled.count(text->ticket) == 0) {
      ++text;
    } else {
      given_up.push_back(std::move(*text));
      text = waiting_.erase(text);
    }
  }
  return true;
}

int64_t Engine::Loop::free_slot(const TextRequest& request) const {
  if (request.slot >= 0) return slots_[size_t(request.slot)].text ? -1 : request.slot;
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (!slots_[i].text) return int64_t(i);
  }
  return -1;
}

/// In the order of their arrival; one that waits for a certain slot holds up nobody else.
void Engine::Loop::admit() {
  std::vector<Slot*> begun;
  {
    const std::lock_guard lock(mutex_);
    for (auto text = waiting_.begin(); text != waiting_.end();) {
      const int64_t place = free_slot(text->request);
      if (place < 0) {
        ++text;
        continue;
      }
      Slot& slot = slots_[size_t(place)];
      slot.text = std::make_unique<RunningText>(text->ticket, std::move(text->request),
                                                std::move(text->events), place);
      begun.push_back(&slot);
      text = waiting_.erase(text);
    }
  }
  for (Slot* slot : begun) {
    try {
      slot->text->begin(lm_, store_, draft_);
    } catch (...) {
      fail(*slot->text, std::current_exception());
    }
  }
  finish_all_that_ended();
}

void Engine::Loop::finish_all_that_ended() {
  for (Slot& slot : slots_) {
    if (slot.text && slot.text->is_finished()) end(*slot.text, slot.text->reason());
  }
}

void Engine::Loop::fail(RunningText& text, const std::exception_ptr& failure) {
  end(text, TextOutcome::failed, sentence_of(failure));
}

/// The slot is free and its state known before anybody is told.
void Engine::Loop::end(RunningText& text, TextOutcome::Reason reason, const std::string& error) {
  const auto slot =
      std::find_if(slots_.begin(), slots_.end(), [&](const Slot& each) { return each.text.get() == &text; });
  LACT_ASSERT(slot != slots_.end());
  const auto ended = std::move(slot->text);
  const TextOutcome outcome = ended->close(reason, error);
  const bool kept = outcome.state && ended->uses_store() && store_.put(outcome.state);
  {
    const std::lock_guard lock(mutex_);
    slot->keep(kept ? outcome.state : nullptr);
    status_.slots[size_t(slot - slots_.begin())] = slot->status();
    status_.draft_tokens += outcome.draft_tokens;
    status_.draft_accepted += outcome.draft_accepted;
    ++status_.texts_finished;
  }
  ended->tell(outcome);
}

void Engine::Loop::publish() {
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < slots_.size(); ++i) status_.slots[i] = slots_[i].status();
  status_.waiting = int64_t(waiting_.size());
}

}  // namespace lact::tasks::lm
