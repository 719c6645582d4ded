// A text that has a slot of the engine: what of its prompt is left, and what is drawn, read and told at each
// step. Used on the engine's thread alone.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "lact/models/lm/stop_strings.h"
#include "lact/tasks/lm/engine/drafting.h"
#include "lact/tasks/lm/engine/engine.h"

namespace lact::tasks::lm {

class RunningText {
 public:
  RunningText(Engine::Ticket ticket, TextRequest request, TextEvents events, int64_t slot);

  /// Finds where to begin; throws what goes wrong. `lm` has to outlive the text.
  void begin(const Loaded& lm, StateStore& store, const std::optional<Loaded>& draft);

  Engine::Ticket ticket() const { return ticket_; }
  SlotStatus status() const;

  // Reading: the prompt, then what the draft model needs of it.
  bool reads() const { return prompt_left() > 0 || (draft_ && draft_->begins()); }
  /// Cut at the same places of a text whoever else is there, and wherever it was begun.
  void read_piece(int64_t longest, StateStore& store);

  // Writing, step by step: draw, tell, propose, read.
  bool writes() const { return !reads() && !ended_; }
  const at::Tensor& rows() const { return rows_; }  ///< [r, M]: hidden states that wait for their draw
  void draw(const at::Tensor& logits);              ///< [r, vocabulary]; on any thread
  void tell_written();                              ///< what was drawn
  Draft* draft() { return ended_ ? nullptr : draft_.get(); }
  int64_t wanted_proposals(int64_t most) const;
  void drop_draft() { draft_ = nullptr; }
  /// What is to be read next: the drawn token and what was proposed to follow; nothing at an end.
  std::optional<models::StreamPiece> next_piece();
  void was_read(const models::StreamPiece& piece);

  /// Ended, and nothing is left to be read.
  bool is_finished() const { return !reads() && ended_ && unread_.empty(); }
  TextOutcome::Reason reason() const { return *ended_; }
  /// What is left of it; `tell` it last.
  TextOutcome close(TextOutcome::Reason reason, const std::string& error = "");
  void tell(const TextOutcome& outcome) const;
  bool uses_store() const { return request_.use_store; }

 private:
  int64_t prompt_left() const { return int64_t(request_.prompt.size()) - read_; }
  void prompt_is_read();
  /// Proposals that were read and wait for their draw.
  int64_t undecided() const { return rows_.defined() ? rows_.size(0) - 1 : 0; }
  void note(int64_t token, const at::Tensor& logits);
  void forget_proposals(int64_t count, int64_t kept);

  const Engine::Ticket ticket_;
  const TextRequest request_;
  const TextEvents events_;
  TextOutcome outcome_;

  const Loaded* lm_ = nullptr;
  std::optional<models::Vocabulary> vocabulary_;
  std::optional<models::LmStream> stream_;
  std::optional<models::LmStream> before_;  ///< before the last piece, where a state cannot forget proposals
  std::unique_ptr<Draft> draft_;
  std::vector<int64_t> known_;  ///< the last tokens before the prompt, as far as they are known
  int64_t read_ = 0;            ///< of the prompt
  models::Sampler sampler_;
  models::StopStringFilter filter_;

  at::Tensor rows_;
  std::vector<int64_t> unread_;    ///< drawn or proposed, to be read next
  std::vector<int64_t> read_now_;  ///< the last piece: a drawn token and proposals
  std::vector<WrittenToken> fresh_;
  std::optional<TextOutcome::Reason> ended_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace lact::tasks::lm
