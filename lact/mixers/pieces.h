// Several texts in one call: pieces of them stand behind each other along the token axis. What treats each
// token alone runs once over all of them; what depends on a text's state runs on its own piece.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "lact/mixers/mixer.h"

namespace lact {

/// Throws a sentence unless x [B, T, M] has the tokens of all pieces.
void check_tokens(const at::Tensor& x, std::span<const SequencePiece> pieces);

/// x [B, T, ...] -> each piece's tokens.
std::vector<at::Tensor> cut(const at::Tensor& x, std::span<const SequencePiece> pieces);
std::vector<Projected> cut(const Projected& all, std::span<const SequencePiece> pieces);

/// What `body(i)` gives for the piece number i, one behind the other: [B, T, channels]. Without gradients the
/// pieces run side by side, each on one core, where there are enough of them. A piece that has failed is left
/// out, as is one that fails now: its numbers are zeros like those of `like` [B, T, channels].
at::Tensor by_piece(std::span<const SequencePiece> pieces, const at::Tensor& like,
                    const std::function<at::Tensor(size_t)>& body);

}  // namespace lact
