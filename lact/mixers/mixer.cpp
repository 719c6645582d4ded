#include "lact/mixers/mixer.h"

#include <ATen/ATen.h>

#include "lact/mixers/pieces.h"

namespace lact {

at::Tensor mix(Core& core, const Projected& in, const SequenceLayout& layout, State& state) {
  if (layout.documents.empty() || core.takes_documents()) return core.mix(in, layout, state);
  const std::vector<int64_t> lengths = document_lengths(layout);
  const auto cut = [&](const at::Tensor& x) { return at::split_with_sizes(x, lengths, 1); };
  const auto x = cut(in.x), q = cut(in.q), k = cut(in.k), v = cut(in.v);
  std::vector<at::Tensor> mixed;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const auto fresh = i == 0 ? nullptr : core.initial_state(in.x.size(0));
    mixed.push_back(core.mix({x[i], q[i], k[i], v[i]}, layout.documents[i], fresh ? *fresh : state));
  }
  return at::cat(mixed, 1);
}

at::Tensor Mixer::advance_together(const at::Tensor& x, std::span<const SequencePiece> pieces) {
  check_tokens(x, pieces);
  const auto tokens = cut(x, pieces);
  return by_piece(pieces, x,
                  [&](size_t i) { return advance(tokens[i], *pieces[i].layout, *pieces[i].state); });
}

}  // namespace lact
