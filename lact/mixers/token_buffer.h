// Tokens that a state keeps for later, with room behind them: a token is appended without copying the others.
//
// A buffer is an ordinary tensor that shows a part of a larger block of memory. Whoever copies, saves or
// replaces it need not know: memory is only written where no other tensor can see it, and copied otherwise.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace lact {

/// Room that a new buffer has beyond its tokens: what streams cost more than the tokens they keep.
inline constexpr int64_t kTokenRoom = 512;

/// Makes `kept` into itself and then `fresh` along `dim`, in the dtype of `fresh`, and returns it: in place
/// if there is room and no one else holds its memory. With gradients switched on it is an ordinary
/// concatenation.
const at::Tensor& append_tokens(at::Tensor& kept, const at::Tensor& fresh, int64_t dim);

/// Forgets the first `count` tokens; their room comes to use when that behind the tokens is used up. Without
/// a token left the memory is free.
void drop_tokens(at::Tensor& kept, int64_t count, int64_t dim);

/// Forgets the last `count` tokens; the next ones take their room.
void drop_last_tokens(at::Tensor& kept, int64_t count, int64_t dim);

}  // namespace lact
