// What ranks with the same weights share out instead of each having all of it.
#pragma once

#include <array>
#include <string_view>
#include <utility>

namespace lact::parallel {

/// Nothing; AdamW's moments; or the weights and gradients of blocks too, which are then lent block by block.
enum class Shard { none, optimizer, parameters };
constexpr std::array<std::pair<Shard, std::string_view>, 3> enum_names(Shard) {
  return {{{Shard::none, "none"}, {Shard::optimizer, "optimizer"}, {Shard::parameters, "parameters"}}};
}

}  // namespace lact::parallel
