#include "lact/tasks/lm/engine/drafting.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "lact/base/error.h"
#include "lact/tasks/lm/engine/batches.h"

namespace lact::tasks::lm {

void check_draft(const Loaded& draft, const Loaded& lm) {
  LACT_CHECK(draft.tokenizer->hash() == lm.tokenizer->hash(),
             "{}: its tokenizer ({}) is not that of the model ({}), so it cannot propose tokens", draft.path,
             draft.tokenizer->description(), lm.tokenizer->description());
}

Draft::Draft(const Loaded& model, std::span<const int64_t> known) : stream_(model.model) {
  const auto seen = std::min(known.size(), size_t(model.model->config().window_size));
  unread_.assign(known.end() - int64_t(seen), known.end());
  begins_ = seen > 1;
}

void Draft::read_piece(int64_t longest) {
  const auto left = int64_t(unread_.size() - 1);  // the last one is read with the first proposal
  const int64_t count = std::min({left, longest, stream_.left_in_chunk()});
  stream_.read({unread_.data(), size_t(count)});
  unread_.erase(unread_.begin(), unread_.begin() + count);
  begins_ = unread_.size() > 1;
}

int64_t Draft::most_proposals(int64_t wanted) const {
  if (unread_.empty()) return 0;
  // All but the last proposal are read behind the text, and none of them may end the chunk.
  const int64_t chunk = stream_.model().config().chunk_size;
  return std::min(wanted, chunk - (stream_.position() + int64_t(unread_.size())) % chunk);
}

/// What is certain needs not be taken back: it may end a chunk.
void Draft::begin_proposal(int64_t count) {
  if (stream_.model().config().forgettable_tokens() < count) before_ = stream_.fork();
  read_now_ = std::exchange(unread_, {});
  stream_.read(std::span(read_now_).first(read_now_.size() - 1));
}

void Draft::settle(int64_t kept, std::optional<int64_t> next) {
  const auto count = int64_t(proposed_.size());
  if (kept < count) {
    const int64_t strayed = count - 1 - kept;
    if (!before_) {
      stream_.roll_back(strayed);
    } else if (strayed > 0) {
      stream_ = std::move(*before_);
      read_now_.insert(read_now_.end(), proposed_.begin(), proposed_.begin() + kept);
      stream_.read(read_now_);
    }
  } else if (count > 0) {
    unread_.push_back(proposed_.back());
  }
  if (next) unread_.push_back(*next);
  before_.reset();
  proposed_.clear();
  read_now_.clear();
}

void propose(std::span<Draft* const> drafts, std::span<const int64_t> wanted, int64_t vocabulary) {
  std::vector<Draft*> busy;
  std::vector<int64_t> left;
  for (size_t i = 0; i < drafts.size(); ++i) {
    Draft& draft = *drafts[i];
    const int64_t count = draft.most_proposals(wanted[i]);
    if (count == 0) continue;
    draft.begin_proposal(count);
    busy.push_back(&draft);
    left.push_back(count);
  }
  while (!busy.empty()) {
    std::vector<models::StreamPiece> pieces;
    for (Draft* draft : busy) {
      const auto& tokens = draft->proposed_.empty() ? draft->read_now_ : draft->proposed_;
      pieces.push_back({&draft->stream_, std::span(tokens).last(1)});
    }
    read_in_batches(pieces);
    std::vector<at::Tensor> rows;
    for (const auto& piece : pieces) {
      if (piece.failure) std::rethrow_exception(piece.failure);
      rows.push_back(piece.hidden);
    }
    const at::Tensor logits = logits_in_batches(busy.front()->stream_.model(), rows);
    // A draft may have more tokens, for padding.
    const at::Tensor likeliest = logits.narrow(1, 0, std::min(vocabulary, logits.size(1))).argmax(1);
    std::vector<Draft*> still;
    std::vector<int64_t> still_left;
    for (size_t i = 0; i < busy.size(); ++i) {
      busy[i]->proposed_.push_back(likeliest[int64_t(i)].item<int64_t>());
      if (left[i] == 1) continue;
      still.push_back(busy[i]);
      still_left.push_back(left[i] - 1);
    }
    busy = std::move(still);
    left = std::move(still_left);
  }
}

}  // namespace lact::tasks::lm
