// Ranges of a run's settings, checked before anything is computed with them.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "lact/base/error.h"

namespace lact::train {

/// As many steps, of a run or between two events, as can be counted without overflow.
inline constexpr int64_t kMostSteps = int64_t(1) << 40;

/// Throws "[train] steps is 0, expected 1 to 1024" unless least <= value <= most. NaN lies in no range.
template <class Number>
void check_range(std::string_view name, Number value, std::type_identity_t<Number> least,
                 std::type_identity_t<Number> most) {
  LACT_CHECK(value >= least && value <= most, "[train] {} is {}, expected {} to {}", name, value, least,
             most);
}

}  // namespace lact::train
