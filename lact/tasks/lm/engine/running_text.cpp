#include "lact/tasks/lm/engine/running_text.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/models/lm/log_probabilities.h"

namespace lact::tasks::lm {

namespace {

double seconds_since(std::chrono::steady_clock::time_point moment) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - moment).count();
}

}  // namespace

RunningText::RunningText(Engine::Ticket ticket, TextRequest request, TextEvents events, int64_t slot)
    : ticket_(ticket),
      request_(std::move(request)),
      events_(std::move(events)),
      sampler_(request_.options.sampling),
      filter_(request_.options.stop) {
  outcome_.slot = slot;
  outcome_.prompt_tokens = int64_t(request_.prompt.size());
}

void RunningText::begin(const Loaded& lm, StateStore& store, const std::optional<Loaded>& draft) {
  lm_ = &lm;
  vocabulary_ = vocabulary_of(*lm.tokenizer);
  TextState from = request_.from;
  if (from) {
    known_ = from->tail();
  } else if (request_.use_store) {
    from = store.longest_prefix(request_.prompt);
    if (from) read_ = outcome_.cached_tokens = from->position();
  }
  stream_ = stream_from(from, lm);
  for (const int64_t token : request_.prompt) sampler_.note(token);
  if (draft && request_.options.max_tokens > 1) {
    known_.insert(known_.end(), request_.prompt.begin(), request_.prompt.end());
    draft_ = std::make_unique<Draft>(*draft, known_);
  }
  if (events_.progress) events_.progress(outcome_.prompt_tokens, outcome_.cached_tokens, read_);
  if (prompt_left() == 0) prompt_is_read();
}

void RunningText::read_piece(int64_t longest, StateStore& store) {
  if (prompt_left() == 0) {
    draft_->read_piece(longest);
    return;
  }
  const int64_t position = stream_->position();
  const int64_t count = std::min({prompt_left(), longest - position % longest, stream_->left_in_chunk()});
  stream_->read(std::span(request_.prompt).subspan(size_t(read_), size_t(count)));
  read_ += count;
  if (request_.use_store && stream_->memory().history.tail.empty()) {
    store.put(snapshot(*stream_, *lm_));
  }
  if (events_.progress) events_.progress(outcome_.prompt_tokens, outcome_.cached_tokens, read_);
  if (prompt_left() == 0) prompt_is_read();
}

void RunningText::prompt_is_read() {
  outcome_.prompt_seconds = seconds_since(began_);
  began_ = std::chrono::steady_clock::now();
  if (request_.options.max_tokens == 0) {
    ended_ = TextOutcome::length;
  } else {
    rows_ = stream_->last_hidden().unsqueeze(0);
  }
}

void RunningText::draw(const at::Tensor& logits) {
  const auto proposals = std::span(read_now_).last(size_t(undecided()));
  size_t row = 0, kept = 0;
  while (true) {
    const at::Tensor of_row = logits[int64_t(row)];
    const int64_t token = sampler_.draw(of_row);
    if (token == vocabulary_->end_of_text && !request_.options.ignore_end) {
      ended_ = TextOutcome::end_of_text;
      break;
    }
    note(token, of_row);
    if (filter_.add(vocabulary_->bytes(token))) {
      ended_ = TextOutcome::stop_string;
      break;
    }
    if (outcome_.written_tokens == request_.options.max_tokens) ended_ = TextOutcome::length;
    const bool is_read = row < proposals.size() && token == proposals[row];
    if (is_read) {
      ++kept;
    } else {
      unread_ = {token};
    }
    if (ended_ || !is_read) break;
    ++row;
  }
  outcome_.draft_accepted += int64_t(kept);
  forget_proposals(int64_t(proposals.size() - kept), int64_t(kept));
  if (draft_ && !ended_) draft_->settle(int64_t(kept), unread_.front());
}

void RunningText::note(int64_t token, const at::Tensor& logits) {
  ++outcome_.written_tokens;
  sampler_.note(token);
  WrittenToken written = {token, 0, {}};
  if (request_.top_logprobs >= 0) {
    auto found = models::log_probabilities(logits, token, request_.top_logprobs);
    written.logprob = found.chosen;
    written.top = std::move(found.likeliest);
  }
  fresh_.push_back(std::move(written));
}

/// The proposals of the last piece are decided: `kept` stay read.
void RunningText::forget_proposals(int64_t count, int64_t kept) {
  if (count > 0 && before_) {
    stream_ = std::move(*before_);
    stream_->read(std::span(read_now_).first(size_t(1 + kept)));
  } else if (count > 0) {
    stream_->roll_back(count, rows_[kept]);
  }
  before_.reset();
  read_now_.clear();
  rows_ = at::Tensor();
}

void RunningText::tell_written() {
  const std::string certain = filter_.take(ended_.has_value());
  if (events_.wrote && (!certain.empty() || !fresh_.empty())) events_.wrote(certain, fresh_);
  fresh_.clear();
}

int64_t RunningText::wanted_proposals(int64_t most) const {
  // They must not end the chunk, since they could not be taken back then, nor outlast the text.
  const int64_t room = stream_->left_in_chunk() - int64_t(unread_.size()) - 1;
  const int64_t left = request_.options.max_tokens - outcome_.written_tokens - 1;
  return std::max<int64_t>(0, std::min({most, room, left}));
}

std::optional<models::StreamPiece> RunningText::next_piece() {
  if (unread_.empty()) return std::nullopt;
  read_now_ = std::exchange(unread_, {});
  if (draft_ && !ended_) {
    const auto& proposed = draft_->proposed();
    read_now_.insert(read_now_.end(), proposed.begin(), proposed.end());
    const auto count = int64_t(proposed.size());
    outcome_.draft_tokens += count;
    if (count > stream_->model().config().forgettable_tokens()) before_ = stream_->fork();
  }
  return models::StreamPiece{&*stream_, read_now_};
}

void RunningText::was_read(const models::StreamPiece& piece) { rows_ = piece.hidden; }

SlotStatus RunningText::status() const {
  SlotStatus status = {.busy = true, .ticket = ticket_};
  status.prompt_tokens = outcome_.prompt_tokens;
  status.prompt_read = read_;
  status.cached_tokens = outcome_.cached_tokens;
  status.written = outcome_.written_tokens;
  status.position = stream_ ? stream_->position() : 0;
  return status;
}

TextOutcome RunningText::close(TextOutcome::Reason reason, const std::string& error) {
  outcome_.reason = reason;
  outcome_.error = error;
  outcome_.stopping_word = filter_.stopping_word();
  (prompt_left() > 0 ? outcome_.prompt_seconds : outcome_.write_seconds) = seconds_since(began_);
  const bool usable = reason != TextOutcome::failed && stream_ && stream_->position() > 0;
  if (!usable) return outcome_;
  forget_proposals(undecided(), 0);
  outcome_.state = snapshot(*stream_, *lm_);
  return outcome_;
}

void RunningText::tell(const TextOutcome& outcome) const {
  if (events_.finished) events_.finished(outcome);
}

}  // namespace lact::tasks::lm
