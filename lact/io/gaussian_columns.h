// What both forms of Gaussians in .ply files share.
#pragma once

#include <string>

#include "lact/io/ply.h"

namespace lact::io {

inline constexpr uint64_t kMostGaussians = 200'000'000;

/// Coefficients of the harmonics, 1, 4, 9 or 16, as the properties f_rest_0 .. tell; these lie at `rest`.
int64_t count_coefficients(const std::string& path, const PlyElement& element, std::vector<int>& rest);

/// The place of f_rest_i in one Gaussian's harmonics [K, 3]: files have all of red, then green, then blue.
inline int64_t place_of_rest(int64_t i, int64_t coefficients) {
  return (1 + i % (coefficients - 1)) * 3 + i / (coefficients - 1);
}

}  // namespace lact::io
