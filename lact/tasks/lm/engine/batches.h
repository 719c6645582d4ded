// What texts do together, in groups small enough for the products of few tokens: there the numbers of a token
// are the same whoever else is in its group.
#pragma once

#include <ATen/core/Tensor.h>

#include <span>
#include <vector>

#include "lact/models/lm/stream.h"

namespace lact::tasks::lm {

/// models::read_together, group by group. A group whose shared work fails is a failure of all its texts.
void read_in_batches(std::span<models::StreamPiece> pieces);

/// Rows [r, M] of hidden states, one behind the other -> logits [all rows, vocabulary].
at::Tensor logits_in_batches(const models::LanguageModel& model, const std::vector<at::Tensor>& rows);

}  // namespace lact::tasks::lm
