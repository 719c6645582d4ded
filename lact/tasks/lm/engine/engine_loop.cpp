#include "lact/tasks/lm/engine/engine_loop.h"

#include <ATen/ATen.h>
#include <ATen/ThreadLocalState.h>

#include <algorithm>
#include <chrono>

#include "lact/base/error.h"
#include "lact/base/one_sentence.h"
#include "lact/ops/dispatch/work_items.h"
#include "lact/tasks/lm/engine/batches.h"

namespace lact::tasks::lm {

namespace {

using Clock = std::chrono::steady_clock;

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

int64_t written_by(const std::vector<RunningText*>& texts) {
  int64_t tokens = 0;
  for (const RunningText* text : texts) tokens += text->status().written;
  return tokens;
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

TextState Engine::Loop::slot_state(int64_t slot) const {
  check_slot(slot);
  const std::lock_guard lock(mutex_);
  return slots_[size_t(slot)].state;
}

void Engine::Loop::set_slot_state(int64_t slot, TextState state) {
  check_slot(slot);
  TextState old;
  {
    const std::lock_guard lock(mutex_);
    old = std::exchange(slots_[size_t(slot)].state, state);
  }
  if (state) {
    store_.put(state);
  } else if (old) {
    store_.forget(old->id);
  }
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

std::vector<RunningText*> Engine::Loop::writing() const {
  std::vector<RunningText*> texts;
  for (const Slot& slot : slots_) {
    if (slot.text && slot.text->writes()) texts.push_back(slot.text.get());
  }
  return texts;
}

void Engine::Loop::write_step() {
  const auto texts = writing();
  if (texts.empty()) return;
  const auto began = Clock::now();
  draw_together(texts);
  propose_together(writing());
  std::vector<RunningText*> readers;  // also those that end with the token they read
  for (const Slot& slot : slots_) {
    if (slot.text && !slot.text->reads()) readers.push_back(slot.text.get());
  }
  read_together(readers);
  {
    const std::lock_guard lock(mutex_);
    status_.write_seconds += std::chrono::duration<double>(Clock::now() - began).count();
    status_.busy_slots += int64_t(texts.size());
    ++status_.decode_steps;
  }
  finish_all_that_ended();
}

void Engine::Loop::draw_together(const std::vector<RunningText*>& texts) {
  std::vector<at::Tensor> rows;
  for (RunningText* text : texts) rows.push_back(text->rows());
  std::vector<std::exception_ptr> failures(texts.size());
  const int64_t before = written_by(texts);
  try {
    const at::Tensor logits = logits_in_batches(*lm_.model, rows);
    std::vector<int64_t> counts;
    for (const auto& of_text : rows) counts.push_back(of_text.size(0));
    const auto parts = at::split_with_sizes(logits, counts, 0);
    const at::ThreadLocalState here;
    ops::for_each_item(int64_t(texts.size()), [&](int64_t i, int64_t) {
      const at::ThreadLocalStateGuard same_modes(here);
      try {
        texts[size_t(i)]->draw(parts[size_t(i)]);
      } catch (...) {
        failures[size_t(i)] = std::current_exception();
      }
    });
  } catch (...) {
    std::fill(failures.begin(), failures.end(), std::current_exception());
  }
  {
    const std::lock_guard lock(mutex_);
    status_.written_tokens += written_by(texts) - before;
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    if (failures[i]) {
      fail(*texts[i], failures[i]);
    } else {
      texts[i]->tell_written();
    }
  }
}

/// What goes wrong with drafts costs no text, only its draft.
void Engine::Loop::propose_together(const std::vector<RunningText*>& texts) {
  std::vector<Draft*> drafts;
  std::vector<int64_t> wanted;
  for (RunningText* text : texts) {
    if (text->draft() == nullptr) continue;
    drafts.push_back(text->draft());
    wanted.push_back(text->wanted_proposals(options_.draft_tokens));
  }
  if (drafts.empty()) return;
  try {
    propose(drafts, wanted, lm_.model->config().vocabulary_size);
  } catch (...) {
    for (RunningText* text : texts) text->drop_draft();
  }
}

void Engine::Loop::read_together(const std::vector<RunningText*>& texts) {
  std::vector<models::StreamPiece> pieces;
  std::vector<RunningText*> readers;
  for (RunningText* text : texts) {
    const auto piece = text->next_piece();
    if (!piece) continue;
    pieces.push_back(*piece);
    readers.push_back(text);
  }
  read_in_batches(pieces);
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].failure) {
      fail(*readers[i], pieces[i].failure);
    } else {
      readers[i]->was_read(pieces[i]);
    }
  }
}

/// One piece of one prompt, and then it is another's turn.
void Engine::Loop::read_step() {
  for (size_t tried = 0; tried < slots_.size(); ++tried) {
    RunningText* text = slots_[next_reader_++ % slots_.size()].text.get();
    if (text == nullptr || !text->reads()) continue;
    const auto began = Clock::now();
    const int64_t before = text->status().prompt_read;
    int64_t after = before;
    try {
      text->read_piece(options_.prompt_piece, store_);
      after = text->status().prompt_read;
    } catch (...) {
      fail(*text, std::current_exception());
    }
    {
      const std::lock_guard lock(mutex_);
      status_.prompt_seconds += std::chrono::duration<double>(Clock::now() - began).count();
      status_.prompt_tokens += after - before;
    }
    return finish_all_that_ended();
  }
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
  if (outcome.state && ended->uses_store()) store_.put(outcome.state);
  {
    const std::lock_guard lock(mutex_);
    slot->state = outcome.state;
    status_.slots[size_t(slot - slots_.begin())] = {};
    status_.draft_tokens += outcome.draft_tokens;
    status_.draft_accepted += outcome.draft_accepted;
    ++status_.texts_finished;
  }
  ended->tell(outcome);
}

void Engine::Loop::publish() {
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < slots_.size(); ++i) {
    status_.slots[i] = slots_[i].text ? slots_[i].text->status() : SlotStatus();
  }
  status_.waiting = int64_t(waiting_.size());
}

}  // namespace lact::tasks::lm
