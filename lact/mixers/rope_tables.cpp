#include "lact/mixers/rope_tables.h"

namespace lact {

ops::RopeTable RopeTables::get(const at::Tensor& positions, int64_t head_dim,
                               const ops::RopeOptions& options) {
  const std::lock_guard lock(mutex_);
  for (const auto& entry : entries_) {
    if (entry.positions.is_same(positions) && entry.head_dim == head_dim && entry.options == options) {
      return entry.table;
    }
  }
  entries_.push_back({positions, head_dim, options, ops::rope_table(positions, head_dim, options)});
  return entries_.back().table;
}

}  // namespace lact
