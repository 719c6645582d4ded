// A step of the engine: every text that is being written draws and reads a token, and one prompt is read on.
#include <ATen/ATen.h>
#include <ATen/ThreadLocalState.h>

#include <algorithm>
#include <chrono>

#include "lact/ops/dispatch/work_items.h"
#include "lact/tasks/lm/engine/batches.h"
#include "lact/tasks/lm/engine/engine_loop.h"

namespace lact::tasks::lm {

namespace {

using Clock = std::chrono::steady_clock;

int64_t written_by(const std::vector<RunningText*>& texts) {
  int64_t tokens = 0;
  for (const RunningText* text : texts) tokens += text->status().written;
  return tokens;
}

}  // namespace

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

}  // namespace lact::tasks::lm
