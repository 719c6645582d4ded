// Gaussians as a camera sees them, many at a time: what the way to the picture and the way back share. Only
// files of kernels/isa/ include this one.
#pragma once

#include "lact/kernels/splat.h"
#include "lact/kernels/splat_harmonics.h"

namespace lact::kernels {
namespace {

/// Numbers of several Gaussians, `stride` apart; the last one again where there are fewer than lanes.
template <class Number>
LACT_INLINE typename LanesOf<Number>::Vector gather(const Number* from, int64_t stride, int count) {
  constexpr int kCount = LanesOf<Number>::kCount;
  alignas(64) Number values[kCount];
  if (count == kCount) {
    for (int i = 0; i < kCount; ++i) values[i] = from[i * stride];
  } else {
    for (int i = 0; i < kCount; ++i) values[i] = from[(i < count ? i : count - 1) * stride];
  }
  return load(values);
}
template <class Number>
LACT_INLINE void scatter(Number* to, int64_t stride, typename LanesOf<Number>::Vector value, int count) {
  for (int i = 0; i < count; ++i) to[i * stride] = value[i];
}
template <class Number>
LACT_INLINE Vector3<typename LanesOf<Number>::Vector> gather3(const Number* from, int count) {
  return {gather(from, 3, count), gather(from + 1, 3, count), gather(from + 2, 3, count)};
}

/// Asks for the harmonics of the Gaussians after these, which are most of what is read.
template <class Number>
LACT_INLINE void fetch_harmonics(const SplatScene<const Number>& scene, int64_t n, int64_t end) {
  constexpr int64_t kCount = LanesOf<Number>::kCount;
  const int64_t width = 3 * scene.coefficients;
  const int64_t last = n + 2 * kCount < end ? n + 2 * kCount : end;
  const auto* until = reinterpret_cast<const char*>(scene.harmonics + last * width);
  for (const auto* line = reinterpret_cast<const char*>(scene.harmonics + (n + kCount) * width); line < until;
       line += 64)
    __builtin_prefetch(line);
}

template <class V>
LACT_INLINE V round_up(V x) {
  for (int i = 0; i < int(sizeof(x) / sizeof(x[0])); ++i) x[i] = __builtin_ceil(x[i]);
  return x;
}

/// Gaussians n .. n + count seen by a camera: everything between the parameters and the picture.
template <class Number>
struct Seen {
  using V = typename LanesOf<Number>::Vector;
  using Mask = typename LanesOf<Number>::Mask;
  using Three = Vector3<V>;

  LACT_INLINE Seen(const SplatScene<const Number>& scene, const SplatView<Number>& view, int64_t n,
                   int count) {
    const V one = Number(1) - V{};
    mean = gather3(scene.means + 3 * n, count);
    place = {camera_row(view, 0), camera_row(view, 1), camera_row(view, 2)};
    inside = (place.z > view.near) & (place.z < view.far);
    inverse = one / select(inside, place.z, one);
    x = place.x * inverse;
    y = place.y * inverse;
    clamped_x = minimum(maximum(x, view.limits[0] - V{}), view.limits[1] - V{});
    clamped_y = minimum(maximum(y, view.limits[2] - V{}), view.limits[3] - V{});

    for (int i = 0; i < 4; ++i) q[i] = gather(scene.quaternions + 4 * n + i, 4, count);
    const V square = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    inverse_length = one / select(square > Number(0), square_root(square), one);
    for (V& part : q) part *= inverse_length;
    rotate();
    for (int j = 0; j < 3; ++j) scale[j] = exp(gather(scene.log_scales + 3 * n + j, 3, count));
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) {
        turned[i][j] = (view.rotation[i][0] * rotation[0][j] + view.rotation[i][1] * rotation[1][j] +
                        view.rotation[i][2] * rotation[2][j]) *
                       scale[j];
      }
    }
    j00 = view.fx * inverse;
    j02 = -view.fx * clamped_x * inverse;
    j11 = view.fy * inverse;
    j12 = -view.fy * clamped_y * inverse;
    for (int j = 0; j < 3; ++j) {
      rows[0][j] = j00 * turned[0][j] + j02 * turned[2][j];
      rows[1][j] = j11 * turned[1][j] + j12 * turned[2][j];
    }
    const Three first = {rows[0][0], rows[0][1], rows[0][2]}, second = {rows[1][0], rows[1][1], rows[1][2]};
    a = dot(first, first) + view.blur;
    b = dot(first, second);
    c = dot(second, second) + view.blur;
    // a c - b² without taking the difference of large numbers
    const Three cross = {first.y * second.z - first.z * second.y, first.z * second.x - first.x * second.z,
                         first.x * second.y - first.y * second.x};
    determinant = dot(cross, cross) + view.blur * (a + c - view.blur);
  }

  LACT_INLINE V camera_row(const SplatView<Number>& view, int i) const {
    return view.rotation[i][0] * mean.x + view.rotation[i][1] * mean.y + view.rotation[i][2] * mean.z +
           view.translation[i];
  }

  LACT_INLINE void rotate() {
    const V w = q[0], i = q[1], j = q[2], k = q[3];
    const Number one = 1, two = 2;
    rotation[0][0] = one - two * (j * j + k * k);
    rotation[0][1] = two * (i * j - w * k);
    rotation[0][2] = two * (i * k + w * j);
    rotation[1][0] = two * (i * j + w * k);
    rotation[1][1] = one - two * (i * i + k * k);
    rotation[1][2] = two * (j * k - w * i);
    rotation[2][0] = two * (i * k - w * j);
    rotation[2][1] = two * (j * k + w * i);
    rotation[2][2] = one - two * (i * i + j * j);
  }

  Three mean, place;  ///< in the scene, in the camera's frame
  Mask inside;
  V inverse, x, y, clamped_x, clamped_y;  ///< 1 / z, x / z, y / z
  V q[4], inverse_length, rotation[3][3], scale[3];
  V turned[3][3];  ///< camera's rotation · rotation · scales
  V j00, j02, j11, j12, rows[2][3];
  V a, b, c, determinant;
};

/// Where Gaussians are seen from, and Y there.
template <class Number>
struct Directions {
  using V = typename LanesOf<Number>::Vector;
  LACT_INLINE Directions(const SplatScene<const Number>& scene, const SplatView<Number>& view,
                         const Vector3<V>& mean) {
    const V x = mean.x - view.centre[0], y = mean.y - view.centre[1], z = mean.z - view.centre[2];
    const V square = x * x + y * y + z * z, one = Number(1) - V{};
    inverse_length = one / select(square > Number(0), square_root(square), one);
    unit = {x * inverse_length, y * inverse_length, z * inverse_length};
    harmonics<Number>(scene.degree, unit, values);
  }
  Vector3<V> unit;
  V inverse_length, values[kMostHarmonics];
};

template <class Number>
LACT_INLINE typename LanesOf<Number>::Vector sigmoid_of(typename LanesOf<Number>::Vector x) {
  return Number(1) / (Number(1) + exp(-x));
}

}  // namespace
}  // namespace lact::kernels
