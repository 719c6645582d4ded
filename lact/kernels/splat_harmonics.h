// Real spherical harmonics of degree 0 to 3, many directions at a time. Only files of kernels/isa/ include
// this one.
#pragma once

#include "lact/kernels/number_lanes.h"

namespace lact::kernels {
namespace {

constexpr int kMostHarmonics = 16;
constexpr double kHarmonic0 = 0.28209479177387814, kHarmonic1 = 0.4886025119029199;
constexpr double kHarmonic2[3] = {1.0925484305920792, 0.31539156525252005, 0.5462742152960396};
constexpr double kHarmonic3[5] = {-0.5900435899266435, 2.890611442640554, -0.4570457994644658,
                                  0.3731763325901154, 1.445305721320277};

template <class V>
struct Vector3 {
  V x, y, z;
};
template <class V>
LACT_INLINE V dot(const Vector3<V>& a, const Vector3<V>& b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}

/// Y_0, Y_1, ... of directions of length 1.
template <class Number, class V>
LACT_INLINE void harmonics(int degree, const Vector3<V>& d, V* values) {
  const V x = d.x, y = d.y, z = d.z;
  values[0] = Number(kHarmonic0) - V{};
  if (degree < 1) return;
  const Number linear = Number(kHarmonic1);
  values[1] = -linear * y;
  values[2] = linear * z;
  values[3] = -linear * x;
  if (degree < 2) return;
  const V xx = x * x, yy = y * y, zz = z * z;
  const Number p = Number(kHarmonic2[0]);
  values[4] = p * x * y;
  values[5] = -p * y * z;
  values[6] = Number(kHarmonic2[1]) * (Number(2) * zz - xx - yy);
  values[7] = -p * x * z;
  values[8] = Number(kHarmonic2[2]) * (xx - yy);
  if (degree < 3) return;
  const Number q = Number(kHarmonic3[0]), r = Number(kHarmonic3[2]);
  const V axial = Number(4) * zz - xx - yy;
  values[9] = q * y * (Number(3) * xx - yy);
  values[10] = Number(kHarmonic3[1]) * x * y * z;
  values[11] = r * y * axial;
  values[12] = Number(kHarmonic3[3]) * z * (Number(2) * zz - Number(3) * (xx + yy));
  values[13] = r * x * axial;
  values[14] = Number(kHarmonic3[4]) * z * (xx - yy);
  values[15] = q * x * (xx - Number(3) * yy);
}

/// Σ_k s_k ∇Y_k, as if Y were a polynomial of any x, y, z.
template <class Number, class V>
LACT_INLINE Vector3<V> harmonics_slope(int degree, const Vector3<V>& d, const V* s) {
  const V x = d.x, y = d.y, z = d.z;
  Vector3<V> slope = {V{}, V{}, V{}};
  if (degree < 1) return slope;
  const Number linear = Number(kHarmonic1);
  slope = {-linear * s[3], -linear * s[1], linear * s[2]};
  if (degree < 2) return slope;
  const Number p = Number(kHarmonic2[0]), axis = Number(2 * kHarmonic2[1]), cross = Number(2 * kHarmonic2[2]);
  slope.x += p * (y * s[4] - z * s[7]) - axis * x * s[6] + cross * x * s[8];
  slope.y += p * (x * s[4] - z * s[5]) - axis * y * s[6] - cross * y * s[8];
  slope.z += Number(2) * axis * z * s[6] - p * (y * s[5] + x * s[7]);
  if (degree < 3) return slope;
  const V xx = x * x, yy = y * y, zz = z * z, xy = x * y, xz = x * z, yz = y * z;
  const V s9 = Number(kHarmonic3[0]) * s[9], s10 = Number(kHarmonic3[1]) * s[10];
  const V s11 = Number(kHarmonic3[2]) * s[11], s12 = Number(kHarmonic3[3]) * s[12];
  const V s13 = Number(kHarmonic3[2]) * s[13], s14 = Number(kHarmonic3[4]) * s[14];
  const V s15 = Number(kHarmonic3[0]) * s[15];
  const V difference = Number(3) * (xx - yy);
  slope.x += Number(6) * xy * s9 + yz * s10 - Number(2) * xy * s11 - Number(6) * xz * s12 +
             (Number(4) * zz - Number(3) * xx - yy) * s13 + Number(2) * xz * s14 + difference * s15;
  slope.y += difference * s9 + xz * s10 + (Number(4) * zz - xx - Number(3) * yy) * s11 -
             Number(6) * yz * s12 - Number(2) * xy * s13 - Number(2) * yz * s14 - Number(6) * xy * s15;
  slope.z += xy * s10 + Number(8) * yz * s11 + (Number(6) * zz - Number(3) * (xx + yy)) * s12 +
             Number(8) * xz * s13 + (xx - yy) * s14;
  return slope;
}

}  // namespace
}  // namespace lact::kernels
