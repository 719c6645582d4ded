#include "lact/mixers/pieces.h"

#include <ATen/ATen.h>
#include <ATen/ThreadLocalState.h>

#include <numeric>

#include "lact/base/error.h"
#include "lact/ops/dispatch/work_items.h"

namespace lact {

namespace {

std::vector<int64_t> lengths_of(std::span<const SequencePiece> pieces) {
  std::vector<int64_t> lengths;
  for (const SequencePiece& piece : pieces) lengths.push_back(piece.layout->tokens);
  return lengths;
}

/// Runs the body, and notes what it throws where the piece wants that.
template <class Body>
void guarded(const SequencePiece& piece, const Body& body) {
  if (piece.failure == nullptr) {
    body();
  } else if (!*piece.failure) {
    try {
      body();
    } catch (...) {
      *piece.failure = std::current_exception();
    }
  }
}

}  // namespace

void check_tokens(const at::Tensor& x, std::span<const SequencePiece> pieces) {
  if (pieces.size() == 1) return check_tokens(x, *pieces[0].layout);
  const auto lengths = lengths_of(pieces);
  const int64_t tokens = std::accumulate(lengths.begin(), lengths.end(), int64_t(0));
  LACT_CHECK(x.dim() == 3 && x.size(1) == tokens,
             "[mixer] the input has shape {}, expected [B, T, M] with the {} tokens of {} pieces",
             x.sizes().vec(), tokens, pieces.size());
}

std::vector<at::Tensor> cut(const at::Tensor& x, std::span<const SequencePiece> pieces) {
  if (pieces.size() == 1) return {x};
  return at::split_with_sizes(x, lengths_of(pieces), 1);
}

std::vector<Projected> cut(const Projected& all, std::span<const SequencePiece> pieces) {
  const auto x = cut(all.x, pieces), q = cut(all.q, pieces), k = cut(all.k, pieces), v = cut(all.v, pieces);
  std::vector<Projected> parts;
  for (size_t i = 0; i < pieces.size(); ++i) parts.push_back({x[i], q[i], k[i], v[i]});
  return parts;
}

at::Tensor by_piece(std::span<const SequencePiece> pieces, const at::Tensor& like,
                    const std::function<at::Tensor(size_t)>& body) {
  std::vector<at::Tensor> results(pieces.size());
  const auto run = [&](size_t i) { guarded(pieces[i], [&] { results[i] = body(i); }); };
  const auto count = int64_t(pieces.size());
  if (count > 1 && count >= ops::num_workers() && !at::GradMode::is_enabled()) {
    const at::ThreadLocalState here;
    ops::for_each_item(count, [&](int64_t i, int64_t) {
      const at::ThreadLocalStateGuard same_modes(here);
      run(size_t(i));
    });
  } else {
    for (size_t i = 0; i < pieces.size(); ++i) run(i);
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (results[i].defined() || pieces[i].failure == nullptr || !*pieces[i].failure) continue;
    results[i] = at::zeros({like.size(0), pieces[i].layout->tokens, like.size(2)}, like.options());
  }
  return results.size() == 1 ? results[0] : at::cat(results, 1);
}

}  // namespace lact
