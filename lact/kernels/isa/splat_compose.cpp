#include "lact/kernels/number_lanes.h"
#include "lact/kernels/splat.h"

namespace lact::kernels {
namespace {

/// A Gaussian in front of a tile: its rows and vectors of pixels, and how it fades along them.
/// σ = ½ a dx² + b dx dy + ½ c dy²
template <class Number>
struct Splat {
  using Lanes = LanesOf<Number>;
  using V = typename Lanes::Vector;
  static constexpr int kColumns = kSplatTile / Lanes::kCount;  // vectors of a row

  LACT_INLINE Splat(const SplatRecord<Number>& record, int64_t tile_x, int64_t tile_y, V centres)
      : record(record), y(record.y - Number(tile_y) - Number(0.5)) {
    const auto within = [](Number place, int64_t from) {
      const int64_t pixel = int64_t(place) - from;
      return int(pixel < 0 ? 0 : pixel >= kSplatTile ? kSplatTile - 1 : pixel);
    };
    top = within(record.top, tile_y);
    bottom = within(record.bottom, tile_y);
    first = within(record.left, tile_x) / Lanes::kCount;
    last = within(record.right, tile_x) / Lanes::kCount;
    for (int column = first; column <= last; ++column) {
      dx[column] = record.x - Number(tile_x + column * Lanes::kCount) - centres;
      level[column] = Number(0.5) * record.a * dx[column] * dx[column];
      slope[column] = record.b * dx[column];
    }
  }

  LACT_INLINE Number dy(int row) const { return y - Number(row); }
  LACT_INLINE V sigma(int column, Number dy) const {
    return level[column] + dy * (slope[column] + Number(0.5) * record.c * dy);
  }

  const SplatRecord<Number>& record;
  Number y;
  int top, bottom, first, last;
  V dx[kColumns], level[kColumns], slope[kColumns];
};

/// Records lie far from each other: asks for the one that comes so many pairs later.
constexpr int64_t kPairsAhead = 8;
template <class Number>
LACT_INLINE void fetch(const SplatTiles<Number>& tiles, const SplatPair& pair) {
  const auto* record = reinterpret_cast<const char*>(tiles.records + pair.gaussian);
  for (size_t line = 0; line < sizeof(SplatRecord<Number>); line += 64) __builtin_prefetch(record + line);
}

/// 0.5, 1.5, ...: centres of the pixels of a vector.
template <class Number>
LACT_INLINE typename LanesOf<Number>::Vector pixel_centres() {
  typename LanesOf<Number>::Vector centres;
  for (int i = 0; i < LanesOf<Number>::kCount; ++i) centres[i] = Number(i) + Number(0.5);
  return centres;
}

/// body(place in the tile, place in the picture) for the pixels of a tile that are in the picture.
template <class Number, class Body>
LACT_INLINE void each_pixel(const SplatTiles<Number>& tiles, int64_t tile, const Body& body) {
  const int64_t x = tile % tiles.columns * kSplatTile, y = tile / tiles.columns * kSplatTile;
  const int64_t rows = tiles.height - y < kSplatTile ? tiles.height - y : kSplatTile;
  const int64_t columns = tiles.width - x < kSplatTile ? tiles.width - x : kSplatTile;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      body(row * kSplatTile + column, (y + row) * tiles.width + x + column);
}

/// Numbers of a plane of a tile: planes that lie a multiple of 4096 bytes apart get into each other's way.
constexpr int kPlane = kTilePixels + 2 * kSplatTile;

/// A tile while it is composed.
template <class Number>
struct Canvas {
  /// Transmittance; negative where the pixel has ended, or is outside of the picture.
  alignas(64) Number left[kPlane];
  alignas(64) Number red[kPlane];
  alignas(64) Number green[kPlane];
  alignas(64) Number blue[kPlane];
  alignas(64) Number depth[kPlane];
  alignas(64) SplatIndex<Number> stops[kPlane];

  bool ended() const {
    Number most = -1;
    for (int i = 0; i < kTilePixels; ++i) most = left[i] > most ? left[i] : most;
    return most < 0;
  }
};

template <class Number>
LACT_INLINE void add(Number* to, typename LanesOf<Number>::Vector value) {
  store(to, load(to) + value);
}

template <class Number>
void forward(const SplatTiles<Number>& tiles, int64_t tile, const SplatPicture<Number>& out,
             const SplatKept<Number>& kept) {
  using V = typename LanesOf<Number>::Vector;
  using Lit = LaneSet<Number>;
  constexpr int kCount = LanesOf<Number>::kCount;
  Canvas<Number> canvas;
  for (int i = 0; i < kTilePixels; ++i) {
    canvas.left[i] = -1;
    canvas.red[i] = canvas.green[i] = canvas.blue[i] = canvas.depth[i] = 0;
    canvas.stops[i] = 0;
  }
  const SplatPair* pairs = tiles.pairs + tiles.starts[tile];
  const int64_t count = tiles.starts[tile + 1] - tiles.starts[tile];
  each_pixel(tiles, tile, [&](int64_t i, int64_t) {
    canvas.left[i] = 1;
    canvas.stops[i] = SplatIndex<Number>(count);
  });
  const int64_t x = tile % tiles.columns * kSplatTile, y = tile / tiles.columns * kSplatTile;
  const V zero = {}, centres = pixel_centres<Number>(), cap = tiles.alpha_cap - zero;
  const V threshold = tiles.alpha_threshold - zero, stop = tiles.transmittance_stop - zero;
  bool ended = false;
  for (int64_t pair = 0; pair < count && !ended; ++pair) {
    if (pair + kPairsAhead < count) fetch(tiles, pairs[pair + kPairsAhead]);
    const Splat<Number> splat(tiles.records[pairs[pair].gaussian], x, y, centres);
    const SplatRecord<Number>& of = splat.record;
    const V reach = of.reach - zero;
    bool ends_here = false;
    for (int row = splat.top; row <= splat.bottom; ++row) {
      const Number dy = splat.dy(row);
      for (int column = splat.first; column <= splat.last; ++column) {
        const V sigma = splat.sigma(column, dy);
        const int place = row * kSplatTile + column * kCount;
        const V left = load(canvas.left + place);
        const Lit near = at_most(sigma, reach) & at_most(zero, sigma) & above(left, zero);
        if (near.empty()) continue;
        // Where it does not count, σ may be anything: no numbers so small that processors are slow with them.
        const V alpha = minimum(of.opacity * exp(-minimum(sigma, reach)), cap);
        const Lit counts = near & at_most(threshold, alpha);
        const V behind = left - left * alpha;
        const Lit passes = counts & above(behind, stop);
        const V weight = select(passes, alpha * left, zero);
        add(canvas.red + place, weight * of.red);
        add(canvas.green + place, weight * of.green);
        add(canvas.blue + place, weight * of.blue);
        add(canvas.depth + place, weight * of.depth);
        store(canvas.left + place, select(passes, behind, left));
        const Lit ends = counts.without(passes);
        if (ends.empty()) continue;
        ends_here = true;
        for (int i = 0; i < kCount; ++i) {
          if (!ends.has(i)) continue;
          canvas.left[place + i] = -canvas.left[place + i];
          canvas.stops[place + i] = SplatIndex<Number>(pair);
        }
      }
    }
    ended = ends_here && canvas.ended();
  }

  const int64_t plane = tiles.width * tiles.height;
  each_pixel(tiles, tile, [&](int64_t i, int64_t pixel) {
    const Number left = canvas.left[i] < 0 ? -canvas.left[i] : canvas.left[i];
    canvas.left[i] = left;
    out.image[pixel] = canvas.red[i] + left * tiles.background[0];
    out.image[pixel + plane] = canvas.green[i] + left * tiles.background[1];
    out.image[pixel + 2 * plane] = canvas.blue[i] + left * tiles.background[2];
    out.alpha[pixel] = 1 - left;
    out.depth[pixel] = canvas.depth[i];
  });
  for (int i = 0; i < kTilePixels; ++i) {
    kept.left[tile * kTilePixels + i] = canvas.left[i];
    kept.stops[tile * kTilePixels + i] = canvas.stops[i];
  }
}

/// The way back through a tile. With g = colour · ∂/∂image + depth · ∂/∂depth of a Gaussian in a pixel:
///   ∂/∂α = T g - behind / (1 - α),  behind = Σ of the later ones α T g + T_end (background · ∂/∂image -
///   ∂/∂alpha)
template <class Number>
struct BackwardCanvas {
  alignas(64) Number left[kPlane];  ///< T behind the Gaussian
  alignas(64) Number behind[kPlane];
  alignas(64) Number red[kPlane];  ///< ∂/∂image, ∂/∂depth
  alignas(64) Number green[kPlane];
  alignas(64) Number blue[kPlane];
  alignas(64) Number depth[kPlane];
  alignas(64) SplatIndex<Number> stops[kPlane];
  int64_t count = 0;  ///< of pairs that a pixel has looked at

  BackwardCanvas(const SplatTiles<Number>& tiles, int64_t tile, const SplatPicture<const Number>& gradient,
                 const SplatKept<const Number>& kept) {
    for (int i = 0; i < kTilePixels; ++i) {
      left[i] = 1;
      behind[i] = red[i] = green[i] = blue[i] = depth[i] = 0;
      stops[i] = 0;
    }
    const int64_t plane = tiles.width * tiles.height;
    each_pixel(tiles, tile, [&](int64_t i, int64_t pixel) {
      left[i] = kept.left[tile * kTilePixels + i];
      stops[i] = kept.stops[tile * kTilePixels + i];
      if (stops[i] > count) count = stops[i];
      if (gradient.image != nullptr) {
        red[i] = gradient.image[pixel];
        green[i] = gradient.image[pixel + plane];
        blue[i] = gradient.image[pixel + 2 * plane];
      }
      if (gradient.depth != nullptr) depth[i] = gradient.depth[pixel];
      const Number of_alpha = gradient.alpha != nullptr ? gradient.alpha[pixel] : 0;
      behind[i] = left[i] * (tiles.background[0] * red[i] + tiles.background[1] * green[i] +
                             tiles.background[2] * blue[i] - of_alpha);
    });
  }
};

/// Sums of one pair, lane by lane; dy is the same along a row, so that dx may wait for the last row.
template <class Number>
struct PairSums {
  using Lanes = LanesOf<Number>;
  using V = typename Lanes::Vector;
  V red = {}, green = {}, blue = {}, depth = {};
  V s[Splat<Number>::kColumns] = {}, s_dy[Splat<Number>::kColumns] = {}, s_dy_dy = {};

  LACT_INLINE void write(const Splat<Number>& splat, Number* to) const {
    V plain = {}, dx = {}, dy = {}, dx_dx = {}, dx_dy = {};
    for (int column = splat.first; column <= splat.last; ++column) {
      plain += s[column];
      dy += s_dy[column];
      dx += s[column] * splat.dx[column];
      dx_dx += s[column] * splat.dx[column] * splat.dx[column];
      dx_dy += s_dy[column] * splat.dx[column];
    }
    const V all[kSplatSums] = {red, green, blue, depth, plain, dx, dy, dx_dx, dx_dy, s_dy_dy};
    for (int i = 0; i < kSplatSums; ++i) to[i] = sum(all[i]);
  }
};

template <class Number>
void backward(const SplatTiles<Number>& tiles, int64_t tile, const SplatPicture<const Number>& gradient,
              const SplatKept<const Number>& kept, Number* sums) {
  using V = typename LanesOf<Number>::Vector;
  using Mask = typename LanesOf<Number>::Mask;
  using Lit = LaneSet<Number>;
  constexpr int kCount = LanesOf<Number>::kCount;
  BackwardCanvas<Number> canvas(tiles, tile, gradient, kept);
  const SplatPair* pairs = tiles.pairs + tiles.starts[tile];
  const int64_t all_pairs = tiles.starts[tile + 1] - tiles.starts[tile];
  const auto none = [&](int64_t pair) {
    for (int i = 0; i < kSplatSums; ++i) sums[pairs[pair].id * int64_t(kSplatSums) + i] = 0;
  };
  for (int64_t pair = canvas.count; pair < all_pairs; ++pair) none(pair);
  const int64_t x = tile % tiles.columns * kSplatTile, y = tile / tiles.columns * kSplatTile;
  const V zero = {}, centres = pixel_centres<Number>(), cap = tiles.alpha_cap - zero;
  const V threshold = tiles.alpha_threshold - zero;
  for (int64_t pair = canvas.count - 1; pair >= 0; --pair) {
    if (pair >= kPairsAhead) fetch(tiles, pairs[pair - kPairsAhead]);
    const Splat<Number> splat(tiles.records[pairs[pair].gaussian], x, y, centres);
    const SplatRecord<Number>& of = splat.record;
    PairSums<Number> own;
    const V reach = of.reach - zero;
    const Mask index = SplatIndex<Number>(pair) - Mask{};
    bool touched = false;
    for (int row = splat.top; row <= splat.bottom; ++row) {
      const Number dy = splat.dy(row);
      for (int column = splat.first; column <= splat.last; ++column) {
        const V sigma = splat.sigma(column, dy);
        const int place = row * kSplatTile + column * kCount;
        Mask stops;
        __builtin_memcpy(&stops, canvas.stops + place, sizeof stops);
        const Lit near = at_most(sigma, reach) & at_most(zero, sigma) & above(stops, index);
        if (near.empty()) continue;
        touched = true;
        const V strength = of.opacity * exp(-minimum(sigma, reach));
        const V capped = minimum(strength, cap);
        const Lit counts = near & at_most(threshold, capped);
        const V alpha = select(counts, capped, zero);
        const V inverse = Number(1) / (Number(1) - alpha);
        const V before = load(canvas.left + place) * inverse;
        const V weight = alpha * before;
        const V red = load(canvas.red + place), green = load(canvas.green + place);
        const V blue = load(canvas.blue + place), depth = load(canvas.depth + place);
        const V value = of.red * red + of.green * green + of.blue * blue + of.depth * depth;
        const V behind = load(canvas.behind + place);
        const V slope = before * value - behind * inverse;
        store(canvas.left + place, before);
        store(canvas.behind + place, behind + weight * value);
        own.red += weight * red;
        own.green += weight * green;
        own.blue += weight * blue;
        own.depth += weight * depth;
        const V s = select(counts & at_most(strength, cap), strength * slope, zero);
        own.s[column] += s;
        own.s_dy[column] += s * dy;
        own.s_dy_dy += s * (dy * dy);
      }
    }
    if (touched) {
      own.write(splat, sums + pairs[pair].id * int64_t(kSplatSums));
    } else {
      none(pair);
    }
  }
}

}  // namespace

namespace LACT_ISA {
extern const SplatCompositionKernels<float> splat_composition_f32;
const SplatCompositionKernels<float> splat_composition_f32 = {forward<float>, backward<float>};
extern const SplatCompositionKernels<double> splat_composition_f64;
const SplatCompositionKernels<double> splat_composition_f64 = {forward<double>, backward<double>};
}  // namespace LACT_ISA
}  // namespace lact::kernels
