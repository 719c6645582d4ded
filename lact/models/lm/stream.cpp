#include "lact/models/lm/stream.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>

#include "lact/base/error.h"
#include "lact/base/out_of_memory.h"

namespace lact::models {

namespace {

/// Operations go past autograd altogether, which would look at each of the thousands that a token takes.
struct WithoutAutograd {
  at::NoGradGuard no_grad;
  at::AutoDispatchBelowADInplaceOrView below_autograd;
};

/// [1, n], where they lie.
at::Tensor ids_of(std::span<const int64_t> tokens) {
  return at::from_blob(const_cast<int64_t*>(tokens.data()), {1, int64_t(tokens.size())},
                       at::TensorOptions(at::kLong));
}

std::string bytes_of(const at::Tensor& x) {
  if (!x.defined()) return "";
  const at::Tensor dense = x.detach().to(at::kCPU).contiguous();
  return {static_cast<const char*>(dense.data_ptr()), dense.nbytes()};
}

}  // namespace

LmStream::LmStream(std::shared_ptr<LanguageModel> model) : model_(std::move(model)) {
  at::NoGradGuard no_grad;
  memory_.state = model_->initial_state(1);
}

LmStream::LmStream(std::shared_ptr<LanguageModel> model, TextMemory memory)
    : model_(std::move(model)), memory_(std::move(memory)) {}

LmStream::LmStream(std::shared_ptr<LanguageModel> model, std::unique_ptr<LmState> state,
                   at::Tensor last_hidden)
    : model_(std::move(model)) {
  memory_.state = std::move(state);
  memory_.last_hidden = memory_.boundary_hidden = std::move(last_hidden);
  memory_.history = unknown_history(position(), bytes_of(memory_.last_hidden));
}

void LmStream::read(std::span<const int64_t> tokens, const OnHidden& on_hidden) {
  const WithoutAutograd without_autograd;
  for (size_t first = 0; first < tokens.size();) {
    const auto piece = tokens.subspan(first, std::min(tokens.size() - first, size_t(left_in_chunk())));
    keep_boundary();
    const at::Tensor hidden = making(fmt::format("{} tokens", piece.size()),
                                     [&] { return model_->advance(ids_of(piece), state()); });
    note(piece, hidden[0][-1]);
    if (on_hidden) on_hidden(hidden, int64_t(first));
    first += piece.size();
  }
}

void LmStream::note(std::span<const int64_t> tokens, const at::Tensor& last_hidden) {
  // A copy: a view would keep the whole piece in memory.
  memory_.last_hidden = last_hidden.clone();
  memory_.history.add(tokens);
  if (position() % chunk() != 0) return;
  memory_.history.close_chunk();
  memory_.boundary_hidden = memory_.last_hidden;
  memory_.boundary = nullptr;
}

/// Before the first token of a chunk.
void LmStream::keep_boundary() {
  if (model_->config().forgets_by_token() || !memory_.history.tail.empty()) return;
  if (position() == 0) return;  // the initial state is known
  memory_.boundary = nullptr;   // not a chain of all chunks
  memory_.boundary = std::make_shared<const TextMemory>(memory_.clone());
}

at::Tensor LmStream::next_logits() {
  LACT_CHECK(position() > 0, "[lm] nothing was read yet, so there is no next token");
  const at::Tensor& hidden = last_hidden();
  const WithoutAutograd without_autograd;
  return model_->logits(hidden);
}

const at::Tensor& LmStream::last_hidden() {
  if (!memory_.last_hidden.defined() && !memory_.history.tail.empty()) {
    const int64_t token = memory_.history.tail.back();
    roll_back(1, {});
    read({&token, 1});
  }
  return memory_.last_hidden;
}

int64_t LmStream::forgettable() const {
  const auto tail = int64_t(memory_.history.tail.size());
  const bool begins_anew = memory_.boundary != nullptr || tail == position();
  return begins_anew ? tail : std::min(tail, memory_.state->forgettable());
}

void LmStream::roll_back(int64_t tokens) {
  if (tokens != 0) roll_back(tokens, {});
}

void LmStream::roll_back(int64_t tokens, const at::Tensor& last_hidden) {
  LACT_CHECK(tokens >= 0 && tokens <= forgettable(), "[lm] {} tokens are to be forgotten, expected 0 to {}",
             tokens, forgettable());
  at::NoGradGuard no_grad;
  TokenHistory& history = memory_.history;
  if (tokens <= memory_.state->forgettable()) {
    memory_.state->forget_last(tokens);
    history.forget_last(tokens);
    memory_.last_hidden = last_hidden.defined()  ? last_hidden.clone()
                          : history.tail.empty() ? memory_.boundary_hidden
                                                 : at::Tensor();
    return;
  }
  const std::vector<int64_t> kept(history.tail.begin(), history.tail.end() - tokens);
  if (const auto boundary = memory_.boundary) {
    memory_ = boundary->clone();
  } else {
    memory_ = {};
    memory_.state = model_->initial_state(1);
  }
  read(kept);
}

void read_together(std::span<StreamPiece> pieces) {
  if (pieces.empty()) return;
  const WithoutAutograd without_autograd;
  std::vector<int64_t> tokens;
  std::vector<TextPiece> texts;
  for (const StreamPiece& piece : pieces) {
    LACT_CHECK(!piece.tokens.empty() && int64_t(piece.tokens.size()) <= piece.stream->left_in_chunk() &&
                   &piece.stream->model() == &pieces.front().stream->model(),
               "[lm] {} tokens of a text, expected 1 to {} and one model for all", piece.tokens.size(),
               piece.stream->left_in_chunk());
    piece.stream->keep_boundary();
    tokens.insert(tokens.end(), piece.tokens.begin(), piece.tokens.end());
    texts.push_back({&piece.stream->state(), int64_t(piece.tokens.size())});
  }
  const at::Tensor hidden = making(fmt::format("{} tokens", tokens.size()), [&] {
    return pieces.front().stream->model().advance_together(ids_of(tokens), texts);
  });
  int64_t first = 0;
  for (size_t i = 0; i < pieces.size(); first += texts[i++].tokens) {
    pieces[i].failure = texts[i].failure;
    if (pieces[i].failure) continue;
    pieces[i].hidden = hidden[0].narrow(0, first, texts[i].tokens);
    pieces[i].stream->note(pieces[i].tokens, pieces[i].hidden[-1]);
  }
}

at::Tensor read_padded(std::span<LmStream> streams, const at::Tensor& ids, std::span<const int64_t> lengths) {
  LACT_CHECK(ids.dim() == 2 && ids.scalar_type() == at::kLong && ids.size(0) == int64_t(streams.size()) &&
                 lengths.size() == streams.size(),
             "[lm] {} streams and {} lengths for ids of shape {}", streams.size(), lengths.size(),
             ids.sizes().vec());
  at::NoGradGuard no_grad;
  at::Tensor hidden;
  for (size_t row = 0; row < streams.size(); ++row) {
    LACT_CHECK(lengths[row] >= 0 && lengths[row] <= ids.size(1), "[lm] row {} has length {} of {} tokens",
               row, lengths[row], ids.size(1));
    const at::Tensor tokens = ids[int64_t(row)].to(at::kCPU).contiguous();
    streams[row].read({tokens.data_ptr<int64_t>(), size_t(lengths[row])},
                      [&](const at::Tensor& piece, int64_t first) {
                        if (!hidden.defined()) {
                          hidden = at::zeros({ids.size(0), ids.size(1), piece.size(2)}, piece.options());
                        }
                        hidden[int64_t(row)].narrow(0, first, piece.size(1)).copy_(piece[0]);
                      });
  }
  return hidden;
}

}  // namespace lact::models
