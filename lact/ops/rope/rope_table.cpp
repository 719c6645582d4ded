// Angles of the rotary embedding. Every layer of a model asks for the same ones, so the last few are kept.
#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <deque>
#include <mutex>

#include "lact/base/error.h"
#include "lact/ops/rope/rope.h"

namespace lact::ops {

namespace {

RopeTable compute(const at::Tensor& positions, int64_t head_dim, const RopeOptions& options) {
  const auto shares = rope_shares(head_dim, positions.size(1));
  const auto precise = positions.options().dtype(at::kDouble);
  std::vector<at::Tensor> angles;
  for (size_t axis = 0; axis < shares.size(); ++axis) {
    const at::Tensor frequency =
        at::pow(options.base, -at::arange(shares[axis], precise) / double(shares[axis]));
    angles.push_back(at::outer(positions.select(1, int64_t(axis)).to(at::kDouble), frequency));
  }
  const at::Tensor all = at::cat(angles, 1);
  const at::Tensor cos = all.cos(), sin = all.sin();
  return {cos, sin, at::stack({cos, sin}).to(at::kFloat)};
}

/// Tables are found by the values of the positions, never by the tensor that holds them.
struct Kept {
  at::Tensor positions;
  int64_t head_dim;
  double base;
  RopeTable table;

  bool is_for(const at::Tensor& wanted, int64_t wanted_head_dim, double wanted_base) const {
    return head_dim == wanted_head_dim && base == wanted_base && positions.device() == wanted.device() &&
           positions.scalar_type() == wanted.scalar_type() && positions.equal(wanted);
  }
};

/// Attention and memory may have heads of different widths, and training and validation different lengths.
constexpr size_t kTables = 4;
/// Longer tables than this, 25 MB, are not worth their memory.
constexpr int64_t kMostAngles = int64_t(1) << 20;

std::mutex mutex;
std::deque<Kept>& kept() {
  static std::deque<Kept> tables;
  return tables;
}

}  // namespace

RopeTable rope_table(const at::Tensor& positions, int64_t head_dim, const RopeOptions& options) {
  LACT_CHECK(positions.dim() == 2, "[rope] positions have shape {}, expected [T, axes]",
             positions.sizes().vec());
  LACT_CHECK(options.base > 0, "[rope] base is {}, expected a positive number", options.base);
  // What is kept must be good for any later caller, with gradients or without.
  at::NoGradGuard no_grad;
  c10::InferenceMode ordinary(false);
  if (!positions.is_cpu() || positions.size(0) * head_dim / 2 > kMostAngles) {
    return compute(positions, head_dim, options);
  }
  const std::lock_guard lock(mutex);
  for (const auto& entry : kept()) {
    if (entry.is_for(positions, head_dim, options.base)) return entry.table;
  }
  RopeTable table = compute(positions, head_dim, options);
  kept().push_front({positions.clone(), head_dim, options.base, table});
  if (kept().size() > kTables) kept().pop_back();
  return table;
}

}  // namespace lact::ops
