#include "lact/mixers/recurrent/sharded_passage.h"

#include <ATen/ATen.h>

#include "lact/mixers/sharding.h"
#include "lact/parallel/collectives.h"

namespace lact::recurrent {

namespace {

/// Tokens of one rank that follow each other.
struct Piece {
  int64_t rank;
  Range tokens;
};

/// Of a stretch, in the order in which they are passed over.
std::vector<Piece> pieces_of(const Sharding& sharding, Range stretch, Direction direction) {
  std::vector<Piece> pieces;
  for (int64_t rank = 0; rank < sharding.context().size(); ++rank) {
    for (const auto& range : intersect(sharding.of_context(rank), {stretch})) pieces.push_back({rank, range});
  }
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece& a, const Piece& b) { return a.tokens.begin < b.tokens.begin; });
  if (direction == Direction::right_to_left) std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

/// Where tokens of the whole stand among those that are held.
Range place_of(const std::vector<Range>& held, Range tokens) {
  const int64_t begin = place_in(held, tokens.begin);
  return {begin, begin + tokens.size()};
}

/// All gates of a piece together: what is left of a state that decays, A = diag(e^Σg), [B, H, 1 or K, 1].
at::Tensor total_decay(const Tokens& tokens) {
  const at::Tensor all = tokens.gate.sum(2).exp();
  return all.dim() == 3 ? all.unsqueeze(3) : all.unsqueeze(2).unsqueeze(3);
}

/// A of a piece, as a matrix or as what the rows of a state are multiplied with.
at::Tensor transition(const Recurrence& recurrence, const Tokens& tokens, const at::Tensor& state) {
  if (recurrence.decays) return total_decay(tokens);
  const int64_t width = state.size(2);
  const at::Tensor identity =
      at::eye(width, state.options()).expand({state.size(0), state.size(1), width, width});
  const at::Tensor nothing =
      at::zeros({tokens.v.size(0), tokens.v.size(1), tokens.v.size(2), width}, tokens.v.options());
  return recurrence.run({tokens.q, tokens.k, nothing, tokens.gate}, identity.contiguous()).state;
}

at::Tensor after(const Recurrence& recurrence, const at::Tensor& a, const at::Tensor& b,
                 const at::Tensor& state) {
  return (recurrence.decays ? a * state : at::matmul(a, state)) + b;
}

/// x of every piece, from what its rank has: rows in the order of pieces.
at::Tensor of_all_pieces(const std::vector<at::Tensor>& own, const std::vector<Piece>& pieces,
                         const parallel::Group& group, const at::Tensor& like) {
  const auto ranks = size_t(group.size());
  std::vector<int64_t> counts(ranks, 0), order;
  for (const auto& piece : pieces) ++counts[size_t(piece.rank)];
  std::vector<int64_t> next(ranks, 0);
  for (size_t i = 1; i < ranks; ++i) next[i] = next[i - 1] + counts[i - 1];
  for (const auto& piece : pieces) order.push_back(next[size_t(piece.rank)]++);
  const at::Tensor rows = own.empty() ? like.unsqueeze(0).narrow(0, 0, 0) : at::stack(own);
  std::vector<int64_t> shape(size_t(rows.dim()), 1);
  shape[0] = int64_t(ranks);
  const at::Tensor come =
      parallel::exchange(rows.repeat(shape), std::vector<int64_t>(ranks, int64_t(own.size())), counts, group,
                         "passing states of a recurrence");
  return come.index_select(0, at::tensor(order, at::kLong).to(rows.device()));
}

class Passing {
 public:
  Passing(const Recurrence& recurrence, const Sharding& sharding, Tokens tokens, Direction direction)
      : recurrence_(recurrence), sharding_(sharding), tokens_(std::move(tokens)), direction_(direction) {}

  /// Adds the outputs of this rank's tokens and what was exchanged for them; returns the state after the
  /// stretch.
  at::Tensor pass(Range stretch, const at::Tensor& state,
                  std::vector<std::pair<int64_t, at::Tensor>>& outputs, std::vector<at::Tensor>& tied) const {
    const auto pieces = pieces_of(sharding_, stretch, direction_);
    const int64_t me = sharding_.context().rank();
    std::vector<at::Tensor> transitions, additions;
    const at::Tensor empty = at::zeros_like(state);
    for (const auto& piece : pieces) {
      if (piece.rank != me) continue;
      transitions.push_back(transition(recurrence_, tokens_of(piece), state));
      additions.push_back(recurrence_.run(tokens_of(piece), empty).state);
    }
    const at::Tensor like =
        recurrence_.decays
            ? at::empty({state.size(0), state.size(1), tokens_.gate.dim() == 4 ? state.size(2) : 1, 1},
                        state.options())
            : at::empty({state.size(0), state.size(1), state.size(2), state.size(2)}, state.options());
    const at::Tensor a = of_all_pieces(transitions, pieces, sharding_.context(), like);
    const at::Tensor b = of_all_pieces(additions, pieces, sharding_.context(), state);
    tied.insert(tied.end(), {a, b});
    at::Tensor before = state;
    for (size_t i = 0; i < pieces.size(); ++i) {
      if (pieces[i].rank == me) {
        const at::Tensor out = recurrence_.run(tokens_of(pieces[i]), before).out;
        const int64_t place = place_of(sharding_.own_context(), pieces[i].tokens).begin;
        outputs.emplace_back(place, direction_ == Direction::right_to_left ? out.flip(2) : out);
      }
      before = after(recurrence_, a[int64_t(i)], b[int64_t(i)], before);
    }
    return before;
  }

 private:
  Tokens tokens_of(const Piece& piece) const {
    return part_of(tokens_, place_of(sharding_.own_context(), piece.tokens), direction_);
  }

  const Recurrence& recurrence_;
  const Sharding& sharding_;
  Tokens tokens_;
  Direction direction_;
};

/// This rank's heads of all tokens; a key or query head that serves all values goes along.
Tokens with_own_heads(const Tokens& tokens, const Sharding& sharding) {
  const int64_t heads = tokens.v.size(1);
  const auto each = [&](const at::Tensor& x) {
    return x.size(1) == heads ? x : x.expand({x.size(0), heads, x.size(2), x.size(3)});
  };
  const bool per_channel = tokens.gate.dim() == 4;
  const auto qkv = sharding.to_heads({each(tokens.q), each(tokens.k), tokens.v}, "recurrence");
  const auto gate = sharding.to_heads({per_channel ? tokens.gate : tokens.gate.unsqueeze(3)}, "recurrence");
  return {qkv[0], qkv[1], qkv[2], per_channel ? gate[0] : gate[0].squeeze(3)};
}

}  // namespace

at::Tensor sharded_pass_over(const Recurrence& recurrence, const Tokens& tokens, const SequenceLayout& layout,
                             Direction direction, at::Tensor& state) {
  const Sharding& sharding = *layout.sharding;
  if (state.size(1) == tokens.v.size(1)) state = sharding.own_heads(state, 1);
  const Tokens own = with_own_heads(tokens, sharding);
  const Passing passing(recurrence, sharding, own, direction);
  std::vector<std::pair<int64_t, at::Tensor>> outputs;
  std::vector<at::Tensor> tied;
  const int64_t begin = sharding.whole().begin;
  for (const auto& [counted, passage] : joined_stretches(sharding.whole())) {
    const Range range = {begin + counted.begin, begin + counted.end};
    if (passage == Passage::read_only) {
      for (const auto& part : intersect(sharding.own_context(), {range})) {
        const Range place = place_of(sharding.own_context(), part);
        outputs.emplace_back(place.begin,
                             read_state(own.q.narrow(2, place.begin, place.size()), state, recurrence.scale));
      }
      continue;
    }
    const at::Tensor last = passing.pass(range, state, outputs, tied);
    if (passage == Passage::remembered) state = last;
  }
  std::sort(outputs.begin(), outputs.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<at::Tensor> parts;
  for (const auto& [place, part] : outputs) parts.push_back(part);
  const at::Tensor out = parts.empty() ? own.v.narrow(2, 0, 0) : at::cat(parts, 2);
  return sharding.to_tokens(parallel::tie(out, tied), "recurrence");
}

}  // namespace lact::recurrent
