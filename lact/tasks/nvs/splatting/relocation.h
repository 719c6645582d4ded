// A Gaussian in the place of which there are to be several: what each of them must be so that the picture
// stays (Kheradmand et al. 2024, eq. 9).
#pragma once

#include <cstdint>

namespace lact::tasks::nvs {

inline constexpr int64_t kMostCopies = 51;

struct Relocation {
  double opacity;       ///< of each copy: 1 - (1 - o)^(1 / n)
  double scale_factor;  ///< of its size
};

/// `copies` of one Gaussian of this opacity in (0, 1); more than kMostCopies count as so many.
Relocation relocate(double opacity, int64_t copies);

}  // namespace lact::tasks::nvs
