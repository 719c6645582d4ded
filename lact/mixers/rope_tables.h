// Tables of the rotary embedding for the positions of one layout. Every layer of a model asks for the same
// one.
#pragma once

#include <mutex>
#include <vector>

#include "lact/ops/rope/rope.h"

namespace lact {

class RopeTables {
 public:
  /// ops::rope_table, made at the first question.
  ops::RopeTable get(const at::Tensor& positions, int64_t head_dim, const ops::RopeOptions& options);

 private:
  struct Entry {
    at::Tensor positions;
    int64_t head_dim;
    ops::RopeOptions options;
    ops::RopeTable table;
  };
  std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace lact
