// How much of everything a budget allows.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace lact::reproduce {

enum class Budget { smoke, two_hours, eight_hours, overnight };
constexpr std::array<std::pair<Budget, std::string_view>, 4> enum_names(Budget) {
  return {{{Budget::smoke, "smoke"},
           {Budget::two_hours, "2h"},
           {Budget::eight_hours, "8h"},
           {Budget::overnight, "overnight"}}};
}

struct Plan {
  Budget budget = Budget::smoke;
  int64_t seeds = 3;  ///< of trainings that are compared; smoke: 1

  /// The number that belongs to the budget: smoke, 2h, 8h, overnight.
  int64_t by_budget(const std::array<int64_t, 4>& values) const { return values[size_t(budget)]; }
  bool smoke() const { return budget == Budget::smoke; }
};

}  // namespace lact::reproduce
