#include "lact/kernels/splat_seen.h"

namespace lact::kernels {
namespace {

template <class Number>
void forward(const SplatScene<const Number>& scene, const SplatView<Number>& view, int64_t begin, int64_t end,
             SplatRecord<Number>* records, int64_t* radii) {
  using V = typename LanesOf<Number>::Vector;
  using Mask = typename LanesOf<Number>::Mask;
  constexpr int kCount = LanesOf<Number>::kCount;
  constexpr int kFields = sizeof(SplatRecord<Number>) / sizeof(Number);
  static_assert(kFields == 16);
  const V zero = {};
  for (int64_t n = begin; n < end; n += kCount) {
    const int count = end - n < kCount ? int(end - n) : kCount;
    fetch_harmonics(scene, n, end);
    const Seen<Number> at(scene, view, n, count);
    V x = view.fx * at.x + view.cx, y = view.fy * at.y + view.cy;
    const V wide = square_root(at.a), high = square_root(at.c);
    const V radius_x = round_up(view.radius * wide), radius_y = round_up(view.radius * high);
    const Mask seen = at.inside & (x + radius_x > zero) & (y + radius_y > zero) &
                      (x - radius_x < view.width) & (y - radius_y < view.height) & (at.determinant > zero) &
                      (at.determinant - at.determinant == zero);  // finite
    for (int i = 0; i < count; ++i) {
      radii[2 * (n + i)] = seen[i] ? int64_t(radius_x[i]) : 0;
      radii[2 * (n + i) + 1] = seen[i] ? int64_t(radius_y[i]) : 0;
    }
    if (!any(seen)) {
      for (int i = 0; i < count; ++i) {
        records[n + i] = {};
        records[n + i].right = -1;
      }
      continue;
    }
    if (scene.screen_offsets != nullptr) {
      x += gather(scene.screen_offsets + 2 * n, 2, count);
      y += gather(scene.screen_offsets + 2 * n + 1, 2, count);
    }
    const V opacity = sigmoid_of<Number>(gather(scene.opacity_logits + n, 1, count));
    V reach;  // o e^(-σ) = threshold, and a little more than that
    for (int i = 0; i < kCount; ++i)
      reach[i] = Number(__builtin_log(double(opacity[i] / view.alpha_threshold))) + Number(1e-4);
    const Mask drawn = seen & (reach > zero);
    const V deviations = square_root(Number(2) * select(drawn, reach, zero)) * Number(1.0001);
    const Number half = Number(0.5);
    // Centres of pixels are at i + ½. Anywhere outside of the picture is as good as at its border.
    const auto within = [&](V value, Number low, Number high) {
      return minimum(maximum(value, low - V{}), high - V{});
    };
    V left = within(x - deviations * wide - half, 0, view.width);
    V top = within(y - deviations * high - half, 0, view.height);
    const V right = within(x + deviations * wide - half, -1, view.width - 1);
    const V bottom = within(y + deviations * high - half, -1, view.height - 1);
    left = round_up(left);
    top = round_up(top);

    const Directions<Number> from(scene, view, at.mean);
    const int used = (scene.degree + 1) * (scene.degree + 1);
    V colours[3];
    for (int channel = 0; channel < 3; ++channel) {
      const Number* coefficients = scene.harmonics + 3 * scene.coefficients * n + channel;
      V sum = Number(0.5) - zero;
      for (int k = 0; k < used; ++k)
        sum += from.values[k] * gather(coefficients + 3 * k, 3 * scene.coefficients, count);
      colours[channel] = maximum(sum, zero);
    }
    const V inverse = Number(1) / select(seen, at.determinant, Number(1) - zero);
    const V fields[kFields] = {x,
                               y,
                               at.c * inverse,
                               -at.b * inverse,
                               at.a * inverse,
                               opacity,
                               colours[0],
                               colours[1],
                               colours[2],
                               at.place.z,
                               reach,
                               left,
                               select(drawn, right, Number(-1) - zero),
                               top,
                               bottom,
                               zero};
    for (int i = 0; i < count; ++i) {
      Number* record = &records[n + i].x;
      for (int field = 0; field < kFields; ++field) record[field] = fields[field][i];
    }
  }
}

/// Sums of all pairs of Gaussian n: [kSplatSums].
template <class Number>
LACT_INLINE void add_pairs(const int64_t* firsts, int64_t n, const Number* sums, Number* total) {
  for (int i = 0; i < kSplatSums; ++i) total[i] = 0;
  for (int64_t pair = firsts[n]; pair < firsts[n + 1]; ++pair)
    for (int i = 0; i < kSplatSums; ++i) total[i] += sums[pair * kSplatSums + i];
}

/// From ∂/∂colour to the harmonics, and what of it goes to the means.
template <class Number, class V = typename LanesOf<Number>::Vector>
LACT_INLINE Vector3<V> colours_backward(const SplatScene<const Number>& scene, const SplatView<Number>& view,
                                        const Vector3<V>& mean, const V* colour_gradients, int64_t n,
                                        int count, Number* gradients) {
  const Directions<Number> from(scene, view, mean);
  const int used = (scene.degree + 1) * (scene.degree + 1);
  const int64_t stride = 3 * scene.coefficients;
  V along[kMostHarmonics] = {};  // Σ of channels c_k ∂/∂colour
  for (int k = 0; k < used; ++k) {
    for (int channel = 0; channel < 3; ++channel) {
      const int64_t place = stride * n + 3 * k + channel;
      along[k] += gather(scene.harmonics + place, stride, count) * colour_gradients[channel];
      scatter(gradients + place, stride, from.values[k] * colour_gradients[channel], count);
    }
  }
  for (int i = 0; i < count; ++i)
    for (int64_t unused = 3 * used; unused < stride; ++unused) gradients[stride * (n + i) + unused] = 0;
  const Vector3<V> slope = harmonics_slope<Number>(scene.degree, from.unit, along);
  const V radial = dot(slope, from.unit);
  return {(slope.x - radial * from.unit.x) * from.inverse_length,
          (slope.y - radial * from.unit.y) * from.inverse_length,
          (slope.z - radial * from.unit.z) * from.inverse_length};
}

/// From ∂/∂rotation to the quaternion before it was brought to length 1.
template <class Number, class V = typename LanesOf<Number>::Vector>
LACT_INLINE void quaternions_backward(const Seen<Number>& at, const V (&d)[3][3], V (&gradient)[4]) {
  const V w = at.q[0], x = at.q[1], y = at.q[2], z = at.q[3];
  const Number two = 2;
  gradient[0] = two * (x * (d[2][1] - d[1][2]) + y * (d[0][2] - d[2][0]) + z * (d[1][0] - d[0][1]));
  gradient[1] = two * (-two * x * (d[1][1] + d[2][2]) + y * (d[0][1] + d[1][0]) + z * (d[0][2] + d[2][0]) +
                       w * (d[2][1] - d[1][2]));
  gradient[2] = two * (x * (d[0][1] + d[1][0]) - two * y * (d[0][0] + d[2][2]) + z * (d[1][2] + d[2][1]) +
                       w * (d[0][2] - d[2][0]));
  gradient[3] = two * (x * (d[0][2] + d[2][0]) + y * (d[1][2] + d[2][1]) - two * z * (d[0][0] + d[1][1]) +
                       w * (d[1][0] - d[0][1]));
  const V radial = gradient[0] * w + gradient[1] * x + gradient[2] * y + gradient[3] * z;
  for (int i = 0; i < 4; ++i) gradient[i] = (gradient[i] - radial * at.q[i]) * at.inverse_length;
}

template <class Number>
void backward(const SplatScene<const Number>& scene, const SplatView<Number>& view, int64_t begin,
              int64_t end, const SplatRecord<Number>* records, const int64_t* firsts, const Number* sums,
              const SplatScene<Number>& gradients) {
  using V = typename LanesOf<Number>::Vector;
  using Mask = typename LanesOf<Number>::Mask;
  constexpr int kCount = LanesOf<Number>::kCount;
  const V zero = {};
  for (int64_t n = begin; n < end; n += kCount) {
    const int count = end - n < kCount ? int(end - n) : kCount;
    fetch_harmonics(scene, n, end);
    // Gaussians that are in no tile have no gradient, and lanes behind the last one neither.
    Number totals[kCount * kSplatSums] = {}, drawn_lanes[kCount] = {};
    for (int i = 0; i < count; ++i) {
      add_pairs(firsts, n + i, sums, totals + i * kSplatSums);
      drawn_lanes[i] = firsts[n + i + 1] > firsts[n + i] ? Number(1) : Number(0);
    }
    const Mask drawn = load(drawn_lanes) > zero;
    const auto total = [&](int i) { return gather(totals + i, kSplatSums, kCount); };
    const auto field = [&](int i) { return gather(&records[n].x + i, 16, count); };
    const auto write = [&](Number* to, int64_t width, int64_t i, V value) {
      scatter(to + width * n + i, width, select(drawn, value, zero), count);
    };
    const Seen<Number> at(scene, view, n, count);
    const V a = field(2), b = field(3), c = field(4);
    const V s_dx = total(5), s_dy = total(6);
    const V dx = -(a * s_dx + b * s_dy), dy = -(b * s_dx + c * s_dy);  // of the mean in pixels
    if (gradients.screen_offsets != nullptr) {
      write(gradients.screen_offsets, 2, 0, dx);
      write(gradients.screen_offsets, 2, 1, dy);
    }
    write(gradients.opacity_logits, 1, 0,
          total(4) * sigmoid_of<Number>(-gather(scene.opacity_logits + n, 1, count)));

    // ∂/∂conic = D, ∂/∂Σ₂ = -Q D Q with the conic's matrix Q, and Σ₂ = rows rowsᵀ + blur
    const Number half = Number(0.5);
    const V d00 = -half * total(7), d01 = -half * total(8), d11 = -half * total(9);
    const V p00 = a * d00 + b * d01, p01 = a * d01 + b * d11, p10 = b * d00 + c * d01,
            p11 = b * d01 + c * d11;
    const V g00 = -(p00 * a + p01 * b), g01 = -(p00 * b + p01 * c), g11 = -(p10 * b + p11 * c);
    V d_turned[3][3], d_j00 = {}, d_j02 = {}, d_j11 = {}, d_j12 = {};
    for (int j = 0; j < 3; ++j) {
      const V first = Number(2) * (g00 * at.rows[0][j] + g01 * at.rows[1][j]);
      const V second = Number(2) * (g01 * at.rows[0][j] + g11 * at.rows[1][j]);
      d_turned[0][j] = at.j00 * first;
      d_turned[1][j] = at.j11 * second;
      d_turned[2][j] = at.j02 * first + at.j12 * second;
      d_j00 += first * at.turned[0][j];
      d_j02 += first * at.turned[2][j];
      d_j11 += second * at.turned[1][j];
      d_j12 += second * at.turned[2][j];
    }
    V d_rotation[3][3], d_scale[3];
    for (int j = 0; j < 3; ++j) {
      d_scale[j] = zero;
      for (int i = 0; i < 3; ++i) {
        d_rotation[i][j] =
            at.scale[j] * (view.rotation[0][i] * d_turned[0][j] + view.rotation[1][i] * d_turned[1][j] +
                           view.rotation[2][i] * d_turned[2][j]);
        d_scale[j] += d_rotation[i][j] * at.rotation[i][j];
      }
      write(gradients.log_scales, 3, j, d_scale[j]);
    }
    V d_quaternion[4];
    quaternions_backward<Number>(at, d_rotation, d_quaternion);
    for (int i = 0; i < 4; ++i) write(gradients.quaternions, 4, i, d_quaternion[i]);

    const Mask free_x = (at.x >= view.limits[0]) & (at.x <= view.limits[1]);
    const Mask free_y = (at.y >= view.limits[2]) & (at.y <= view.limits[3]);
    const V of_x = view.fx * dx - select(free_x, view.fx * at.inverse * d_j02, zero);  // of x / z
    const V of_y = view.fy * dy - select(free_y, view.fy * at.inverse * d_j12, zero);
    const V of_inverse = of_x * at.place.x + of_y * at.place.y + view.fx * (d_j00 - at.clamped_x * d_j02) +
                         view.fy * (d_j11 - at.clamped_y * d_j12);
    const V in_camera[3] = {of_x * at.inverse, of_y * at.inverse,
                            total(3) - at.inverse * at.inverse * of_inverse};
    V colour_gradients[3];
    for (int channel = 0; channel < 3; ++channel)
      colour_gradients[channel] = select(drawn & (field(6 + channel) > zero), total(channel), zero);
    const Vector3<V> seen_from =
        colours_backward<Number>(scene, view, at.mean, colour_gradients, n, count, gradients.harmonics);
    const V by_colour[3] = {seen_from.x, seen_from.y, seen_from.z};
    for (int j = 0; j < 3; ++j) {
      write(gradients.means, 3, j,
            by_colour[j] + view.rotation[0][j] * in_camera[0] + view.rotation[1][j] * in_camera[1] +
                view.rotation[2][j] * in_camera[2]);
    }
  }
}

template <class Number>
bool finite(const Number* numbers, int64_t count) {
  using Bits = std::conditional_t<sizeof(Number) == 4, uint32_t, uint64_t>;
  constexpr Bits exponent = sizeof(Number) == 4 ? Bits(0x7f800000) : Bits(0x7ff0000000000000);
  Bits bad = 0;
  for (int64_t i = 0; i < count; ++i)
    bad |= Bits((__builtin_bit_cast(Bits, numbers[i]) & exponent) == exponent);
  return bad == 0;
}

}  // namespace

namespace LACT_ISA {
extern const SplatProjectionKernels<float> splat_projection_f32;
const SplatProjectionKernels<float> splat_projection_f32 = {finite<float>, forward<float>, backward<float>};
extern const SplatProjectionKernels<double> splat_projection_f64;
const SplatProjectionKernels<double> splat_projection_f64 = {finite<double>, forward<double>,
                                                             backward<double>};
}  // namespace LACT_ISA
}  // namespace lact::kernels
