// The order in which token ranges are written into the fast weights and read from them (paper figure 3).
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "lact/ops/tokens/range.h"

namespace lact::ttt {

/// restart: the memory is the initial one again, and what was written is forgotten; its range is empty and
/// says where a document begins.
enum class Operation { update_then_apply, apply_then_update, update, apply, restart };
constexpr std::array<std::pair<Operation, std::string_view>, 5> enum_names(Operation) {
  return {{{Operation::update_then_apply, "update_then_apply"},
           {Operation::apply_then_update, "apply_then_update"},
           {Operation::update, "update_only"},
           {Operation::apply, "apply_only"},
           {Operation::restart, "restart"}}};
}
inline bool updates(Operation operation) {
  return operation != Operation::apply && operation != Operation::restart;
}
inline bool applies(Operation operation) {
  return operation != Operation::update && operation != Operation::restart;
}

struct Step {
  Operation operation;
  Range tokens;
  bool operator==(const Step&) const = default;
};

/// Steps run in order. No token is written twice or read twice; a token that is never read gives zeros.
using Schedule = std::vector<Step>;

bool restarts(const Schedule& schedule);

/// Throws unless every step lies in its positions and no token is read or written twice.
/// Reads must lie in `queries`; writes in `keys`, which may begin earlier: tokens kept from an earlier call.
/// Steps may be empty where other ranks have their tokens.
void check_schedule(const Schedule& schedule, Range queries, Range keys, bool may_be_empty = false);

/// (a) Everything is written, then everything is read: like full attention.
Schedule full_schedule(int64_t tokens);

/// (b) Chunk after chunk, written and then read. The last chunk may be shorter.
Schedule block_causal_schedule(int64_t tokens, int64_t chunk);

/// (c) Chunk after chunk, read and then written: no chunk sees itself. The last chunk is only read, as no one
/// reads after it.
Schedule shifted_schedule(int64_t tokens, int64_t chunk);

/// (d) Of every `stride` chunks one is written, the one at index `phase`; all are read.
Schedule strided_schedule(int64_t tokens, int64_t chunk, int64_t stride, int64_t phase = 0);

/// The tokens [begin, begin + tokens) of an endless shifted schedule. A chunk is written when its last token
/// arrives, so that its first tokens may have come in earlier calls.
Schedule shifted_piece(int64_t begin, int64_t tokens, int64_t chunk);

/// Documents one after the other, each as a shifted schedule of its own that starts from the initial memory.
Schedule packed_schedule(const std::vector<int64_t>& document_lengths, int64_t chunk);

/// The equivalent attention mask, bool [T, T]: row i is true at j if the output of token i depends on what
/// token j wrote.
at::Tensor schedule_mask(const Schedule& schedule, int64_t tokens);

}  // namespace lact::ttt
