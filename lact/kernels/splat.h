// Splatting Gaussians: projection of Gaussians, many at a time, and composition of tiles of 16 x 16 pixels.
// Equations in ops/splat/splat.h. Number is float or double.
#pragma once

#include <cstdint>
#include <type_traits>

#include "lact/kernels/isa.h"

namespace lact::kernels {

constexpr int kSplatTile = 16;                        ///< side of a tile
constexpr int kTilePixels = kSplatTile * kSplatTile;  ///< row by row

/// Fields of Gaussians; for gradients likewise. Contiguous.
template <class Number>
struct SplatScene {
  Number *means, *quaternions, *log_scales, *opacity_logits, *harmonics;
  Number* screen_offsets;  ///< or null
  int64_t coefficients;    ///< of the harmonics, that there are
  int degree;              ///< of those that are used
};

template <class Number>
struct SplatView {
  Number rotation[3][3], translation[3], centre[3];
  Number fx, fy, cx, cy, width, height;
  Number limits[4];  ///< of x / z and y / z in the Jacobian: lowest x, highest x, lowest y, highest y
  Number near, far, blur, radius;
  Number alpha_threshold;
};

/// What composing a Gaussian needs, in one cache line of float32.
template <class Number>
struct SplatRecord {
  Number x, y, a, b, c;  ///< mean in pixels, conic
  Number opacity, red, green, blue, depth;
  Number reach;                     ///< where ½ dᵀ conic d is larger, α is below the threshold
  Number left, right, top, bottom;  ///< pixels that may be touched, within the picture; none if right < left
  Number unused;
};

struct SplatPair {
  int32_t gaussian;
  int32_t id;  ///< place among the pairs of all Gaussians, those of one Gaussian behind each other
};

/// A picture's tiles, row by row, and what is in front of each.
template <class Number>
struct SplatTiles {
  const SplatRecord<Number>* records;
  const SplatPair* pairs;  ///< of a tile: nearest first
  const int64_t* starts;   ///< [tiles + 1], into pairs
  int64_t width, height, columns;
  Number background[3];
  Number alpha_cap, alpha_threshold, transmittance_stop;
};

/// An integer as wide as the number.
template <class Number>
using SplatIndex = std::conditional_t<sizeof(Number) == 4, int32_t, int64_t>;
template <class Number>
using SplatStops = std::conditional_t<std::is_const_v<Number>, const SplatIndex<Number>, SplatIndex<Number>>;

/// What a tile is composed to. Gradients have the same shape; where one is null it is zero.
template <class Number>
struct SplatPicture {
  Number *image, *alpha, *depth;  ///< [3, H, W], [H, W], [H, W]
};
template <class Number>
struct SplatKept {
  Number* left;               ///< [tiles, kTilePixels]: transmittance behind all Gaussians
  SplatStops<Number>* stops;  ///< [tiles, kTilePixels]: how many pairs of the tile the pixel has looked at
};

/// Of one pair or Gaussian, summed over pixels, with s = o e^(-σ) ∂/∂α where α is below its cap:
/// ∂/∂colour, ∂/∂depth, Σ s, Σ s dx, Σ s dy, Σ s dx², Σ s dx dy, Σ s dy².
constexpr int kSplatSums = 10;

template <class Number>
struct SplatProjectionKernels {
  /// Whether all numbers are finite.
  bool (*finite)(const Number* numbers, int64_t count);
  /// Gaussians begin .. end. radii [N, 2].
  void (*forward)(const SplatScene<const Number>& scene, const SplatView<Number>& view, int64_t begin,
                  int64_t end, SplatRecord<Number>* records, int64_t* radii);
  /// From the sums of pairs, firsts[n] .. firsts[n + 1] of which are of Gaussian n, to all of the gradients.
  void (*backward)(const SplatScene<const Number>& scene, const SplatView<Number>& view, int64_t begin,
                   int64_t end, const SplatRecord<Number>* records, const int64_t* firsts, const Number* sums,
                   const SplatScene<Number>& gradients);
};

template <class Number>
struct SplatCompositionKernels {
  void (*forward)(const SplatTiles<Number>& tiles, int64_t tile, const SplatPicture<Number>& out,
                  const SplatKept<Number>& kept);
  /// Writes the sums of the tile's pairs: [pairs, kSplatSums], by their ids.
  void (*backward)(const SplatTiles<Number>& tiles, int64_t tile, const SplatPicture<const Number>& gradient,
                   const SplatKept<const Number>& kept, Number* sums);
};

LACT_KERNEL_TABLE(SplatProjectionKernels<float>, splat_projection_f32)
LACT_KERNEL_TABLE(SplatProjectionKernels<double>, splat_projection_f64)
LACT_KERNEL_TABLE(SplatCompositionKernels<float>, splat_composition_f32)
LACT_KERNEL_TABLE(SplatCompositionKernels<double>, splat_composition_f64)

}  // namespace lact::kernels
