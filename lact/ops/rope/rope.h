// Rotary position embedding in any number of dimensions: every pair of channels is rotated by an angle that
// grows with one coordinate of the token's position.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace lact::ops {

/// Which channels form a pair: halves (i, i + D/2), as GPT-NeoX and the language model, or neighbours (2i, 2i
/// + 1), as Wan.
enum class RopePairs { halves, neighbours };
constexpr std::array<std::pair<RopePairs, std::string_view>, 2> enum_names(RopePairs) {
  return {{{RopePairs::halves, "halves"}, {RopePairs::neighbours, "neighbours"}}};
}

struct RopeOptions {
  double base = 10000;
  RopePairs pairs = RopePairs::halves;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("base", base, "wavelengths run from 2 pi to 2 pi base");
    field("pairs", pairs, "channels that turn together: halves (text) or neighbours (Wan)");
  }
  bool operator==(const RopeOptions&) const = default;
};

/// cos and sin of every angle, each [T, D/2], computed in float64. Shared: not to be written to.
struct RopeTable {
  at::Tensor cos, sin;
  at::Tensor angles;  ///< the same in float32, [2, T, D/2], for the fused path
};

/// How many of the D/2 pairs turn with each axis: all with one axis; with more, equal shares and the
/// remainder to the first.
std::vector<int64_t> rope_shares(int64_t head_dim, int64_t axes);

/// positions [T, axes]; pair i of an axis with n pairs turns by position * base^(-i/n).
RopeTable rope_table(const at::Tensor& positions, int64_t head_dim, const RopeOptions& options);

/// x [B, T, H, D] rotated by table; same dtype out.
at::Tensor rope(const at::Tensor& x, const RopeTable& table, RopePairs pairs);

namespace reference {
at::Tensor rope(const at::Tensor& x, const RopeTable& table, RopePairs pairs);
}

/// One pass that reads x where it stands, a view of q or k among q, k, v; the backward pass turns back.
namespace fused {
bool fits_rope(const at::Tensor& x, const RopeTable& table);
at::Tensor rope(const at::Tensor& x, const RopeTable& table, RopePairs pairs);
}  // namespace fused

}  // namespace lact::ops
