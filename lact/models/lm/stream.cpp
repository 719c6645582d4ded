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

}  // namespace

LmStream::LmStream(std::shared_ptr<LanguageModel> model) : model_(std::move(model)) {
  at::NoGradGuard no_grad;
  state_ = model_->initial_state(1);
}

LmStream::LmStream(std::shared_ptr<LanguageModel> model, std::unique_ptr<LmState> state,
                   at::Tensor last_hidden)
    : model_(std::move(model)), state_(std::move(state)), last_hidden_(std::move(last_hidden)) {}

void LmStream::read(std::span<const int64_t> tokens, const OnHidden& on_hidden) {
  const WithoutAutograd without_autograd;
  const int64_t chunk = model_->config().chunk_size, count = int64_t(tokens.size());
  for (int64_t first = 0; first < count;) {
    const int64_t piece = std::min(count - first, chunk - state_->position % chunk);
    const at::Tensor ids =
        at::from_blob(const_cast<int64_t*>(tokens.data()) + first, {1, piece}, at::TensorOptions(at::kLong));
    const at::Tensor hidden =
        making(fmt::format("{} tokens", piece), [&] { return model_->advance(ids, *state_); });
    // A copy: a view would keep the whole piece in memory.
    last_hidden_ = hidden[0][piece - 1].clone();
    if (on_hidden) on_hidden(hidden, first);
    first += piece;
  }
}

at::Tensor LmStream::next_logits() const {
  LACT_CHECK(last_hidden_.defined(), "[lm] nothing was read yet, so there is no next token");
  const WithoutAutograd without_autograd;
  return model_->logits(last_hidden_);
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

int64_t state_bytes(State& state) {
  struct Counter : StateVisitor {
    int64_t bytes = 0;
    void tensor(const std::string&, at::Tensor& value, int64_t) override {
      bytes += value.numel() * int64_t(value.element_size());
    }
    void number(const std::string&, int64_t&) override {}
  } counter;
  state.visit(counter, "");
  return counter.bytes;
}

}  // namespace lact::models
