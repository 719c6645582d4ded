// Speculative decoding: a smaller model goes ahead of a text and proposes tokens, which the model then reads
// in one piece. Proposals are greedy, so that the rule is simple: as long as the token drawn from the model's
// own probabilities is the proposed one, it has been read already. With any temperature and penalty the text
// is the one that would be written without a draft.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "lact/models/lm/stream.h"
#include "lact/tasks/lm/load.h"

namespace lact::tasks::lm {

/// Throws a sentence unless both models have the same tokens.
void check_draft(const Loaded& draft, const Loaded& lm);

/// The draft model's view of one text.
class Draft {
 public:
  /// `known`: the last tokens of the text that are known; it reads no more than its window of them.
  Draft(const Loaded& model, std::span<const int64_t> known);

  /// Tokens of the beginning are left, to be read a piece at a time before anything is proposed.
  bool begins() const { return begins_; }
  void read_piece(int64_t longest);

  const std::vector<int64_t>& proposed() const { return proposed_; }

  /// What became of the proposal: the first `kept` were right, and `next`, if there is one, follows them.
  void settle(int64_t kept, std::optional<int64_t> next);

 private:
  friend void propose(std::span<Draft* const> drafts, std::span<const int64_t> wanted, int64_t vocabulary);

  /// As many as can be taken back again.
  int64_t most_proposals(int64_t wanted) const;
  void begin_proposal(int64_t count);

  models::LmStream stream_;
  bool begins_;
  std::vector<int64_t> unread_;             ///< of the text
  std::vector<int64_t> proposed_;           ///< all but the last have been read
  std::vector<int64_t> read_now_;           ///< what was read of the text before them
  std::optional<models::LmStream> before_;  ///< before both, where a state cannot forget
};

/// Each proposes up to `wanted` tokens, all below `vocabulary`; the draft model's weights are read once per
/// token for all texts.
void propose(std::span<Draft* const> drafts, std::span<const int64_t> wanted, int64_t vocabulary);

}  // namespace lact::tasks::lm
