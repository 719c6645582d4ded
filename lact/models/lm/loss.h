// The language model's loss without the logits of a whole batch in memory.
#pragma once

#include <ATen/core/Tensor.h>

#include "lact/models/lm/model.h"

namespace lact::models {

/// Cross entropy of each next token: hidden [B, T, M], targets [B, T] -> [B, T]. The logits are made for a
/// stretch of tokens at a time, and again in the backward pass.
at::Tensor next_token_losses(const LanguageModel& model, const at::Tensor& hidden, const at::Tensor& targets);

}  // namespace lact::models
