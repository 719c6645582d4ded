#include "lact/kernels/inner_norm.h"

#include "lact/kernels/row_loop.h"

namespace lact::kernels::LACT_ISA {

extern const InnerNormKernels inner_norm;

namespace {

LACT_INLINE float* row_of(FloatRows rows, int64_t row) { return rows.numbers + row * rows.stride; }
template <class Number>
LACT_INLINE const Number* row_of(NumberRows rows, int64_t row) {
  return static_cast<const Number*>(rows.numbers) + row * rows.stride;
}

/// Calls what(numbers of the type that rows are of).
template <class What>
LACT_INLINE void typed(bool bf16, const What& what) {
  if (bf16) return what(uint16_t{});
  what(float{});
}

/// Σ value(first channel, lanes); lanes beyond `count` of a value must be 0.
template <class Value>
LACT_INLINE float sum_over(int64_t width, const Value& value) {
  Vec total = {};
  over_row(width, [&](int64_t i, int count) { total += value(i, count); });
  return sum(total);
}

/// Zeros beyond `count`: a constant that was added there must not enter a sum.
LACT_INLINE Vec first_lanes(Vec x, int count) {
  if (count == kLanes) return x;
  for (int i = count; i < kLanes; ++i) x[i] = 0;
  return x;
}

void normalize(FloatRows z, const float* bias, BlockSize size, double epsilon, float* inverse) {
  for (int64_t r = 0; r < size.rows; ++r) {
    float* row = row_of(z, r);
    const float mean = sum_over(size.width,
                                [&](int64_t i, int count) {
                                  const Vec value = read(row + i, count) + read(bias + i, count);
                                  write(row + i, value, count);
                                  return value;
                                }) /
                       float(size.width);
    const float squares = sum_over(size.width, [&](int64_t i, int count) {
      const Vec centred = first_lanes(read(row + i, count) - mean, count);
      return centred * centred;
    });
    const auto factor = float(1 / __builtin_sqrt(double(squares) / double(size.width) + epsilon));
    over_row(size.width,
             [&](int64_t i, int count) { write(row + i, (read(row + i, count) - mean) * factor, count); });
    inverse[r] = factor;
  }
}

LACT_INLINE Vec shifted(NormChannels channels, const float* normed, int64_t i, int count) {
  return read(channels.scale + i, count) * read(normed + i, count) + read(channels.shift + i, count);
}

void residual(NumberRows x, FloatRows normed, NormChannels channels, BlockSize size, OutputRows out) {
  typed(x.bf16, [&](auto from) {
    typed(out.bf16, [&](auto to) {
      for (int64_t r = 0; r < size.rows; ++r) {
        const auto* own = row_of<decltype(from)>(x, r);
        auto* result = static_cast<decltype(to)*>(out.numbers) + r * out.stride;
        over_row(size.width, [&](int64_t i, int count) {
          write(result + i, read(own + i, count) + shifted(channels, row_of(normed, r), i, count), count);
        });
      }
    });
  });
}

void missing(NumberRows k, NumberRows v, FloatRows normed, NormChannels channels, BlockSize size,
             FloatRows p) {
  typed(k.bf16, [&](auto number) {
    for (int64_t r = 0; r < size.rows; ++r) {
      const auto *key = row_of<decltype(number)>(k, r), *value = row_of<decltype(number)>(v, r);
      over_row(size.width, [&](int64_t i, int count) {
        const Vec f = read(key + i, count) + shifted(channels, row_of(normed, r), i, count);
        write(row_of(p, r) + i, read(value + i, count) - f, count);
      });
    }
  });
}

void descent(FloatRows normed, const float* inverse, FloatRows p, const float* scale, BlockSize size,
             FloatRows delta) {
  for (int64_t r = 0; r < size.rows; ++r) {
    const float *z = row_of(normed, r), *from = row_of(p, r);
    Vec sums = {}, along = {};
    over_row(size.width, [&](int64_t i, int count) {
      const Vec a = read(scale + i, count) * read(from + i, count);
      sums += a;
      along += a * read(z + i, count);
    });
    const float mean = sum(sums) / float(size.width), common = sum(along) / float(size.width);
    over_row(size.width, [&](int64_t i, int count) {
      const Vec a = read(scale + i, count) * read(from + i, count);
      write(row_of(delta, r) + i, (a - mean - read(z + i, count) * common) * inverse[r], count);
    });
  }
}

// With a = scale ∘ p,  s = mean(a ∘ ẑ),  t = mean(δ̄ ∘ ẑ):
//   ā = r (δ̄ - mean(δ̄) - ẑ t),   p̄ = scale ∘ ā,   scale̅ += ā ∘ p
//   ẑ̄ = -r (s δ̄ + t a),   and where p = v - f(k):   ẑ̄ -= scale ∘ p̄,  scale̅ -= p̄ ∘ ẑ,  shift̅ -= p̄
//   z̄ = r (ẑ̄ - mean(ẑ̄) - ẑ (mean(ẑ̄ ∘ ẑ) + mean(δ̄ ∘ δ)))        the last mean is what comes through r
void descent_backward(const DescentBackward& task, BlockSize size) {
  const float count_of = float(size.width);
  for (int64_t r = 0; r < size.rows; ++r) {
    const float *z = row_of(task.normed, r), *p = row_of(task.p, r), *delta = row_of(task.delta, r),
                *slope = row_of(task.delta_gradient, r);
    float *p_gradient = row_of(task.p_gradient, r), *z_gradient = row_of(task.z_gradient, r);
    const float inverse = task.inverse[r];
    Vec sums[4] = {};
    over_row(size.width, [&](int64_t i, int count) {
      const Vec own = read(slope + i, count), normed = read(z + i, count);
      sums[0] += own;
      sums[1] += own * normed;
      sums[2] += own * read(delta + i, count);
      sums[3] += read(task.scale + i, count) * read(p + i, count) * normed;
    });
    const float mean = sum(sums[0]) / count_of, t = sum(sums[1]) / count_of,
                through = sum(sums[2]) / count_of, s = sum(sums[3]) / count_of;
    Vec totals[2] = {};
    over_row(size.width, [&](int64_t i, int count) {
      const Vec own = read(slope + i, count), normed = read(z + i, count),
                scale = read(task.scale + i, count);
      const Vec value = read(p + i, count), a = scale * value;
      const Vec a_gradient = (own - mean - normed * t) * inverse, missing_gradient = scale * a_gradient;
      write(p_gradient + i, missing_gradient, count);
      Vec scale_gradient = a_gradient * value, normed_gradient = (own * s + a * t) * -inverse;
      if (task.residual) {
        normed_gradient -= scale * missing_gradient;
        scale_gradient -= missing_gradient * normed;
        write(task.shift_gradient + i, read(task.shift_gradient + i, count) - missing_gradient, count);
      }
      write(task.scale_gradient + i, read(task.scale_gradient + i, count) + scale_gradient, count);
      write(z_gradient + i, normed_gradient, count);
      totals[0] += normed_gradient;  // a and δ̄ are 0 beyond the width, and so is this
      totals[1] += normed_gradient * normed;
    });
    const float shift = sum(totals[0]) / count_of, stretch = sum(totals[1]) / count_of + through;
    over_row(size.width, [&](int64_t i, int count) {
      write(z_gradient + i, (read(z_gradient + i, count) - shift - read(z + i, count) * stretch) * inverse,
            count);
    });
  }
}

// gelu(x) = x σ(u), u = 2 √(2/π) (x + 0.044715 x³), σ' = σ (1 - σ). Beyond ±20 it is x or 0.
void gelu(FloatRows y, const float* bias, BlockSize size, FloatRows h, FloatRows slope, FloatRows curvature) {
  constexpr float kLinear = 1.5957691216f, kCubic = kLinear * 0.044715f;
  for (int64_t r = 0; r < size.rows; ++r) {
    over_row(size.width, [&](int64_t i, int count) {
      const Vec x = read(row_of(y, r) + i, count) + read(bias + i, count);
      const Vec bounded = select(x < -20.f, splat(-20.f), select(x > 20.f, splat(20.f), x));
      const Vec square = bounded * bounded, u = bounded * (kLinear + kCubic * square);
      const Vec first = kLinear + 3.f * kCubic * square, second = 6.f * kCubic * bounded;
      const Vec share = sigmoid(select(u < -87.f, splat(-87.f), u)), bend = share * (1.f - share);
      write(row_of(h, r) + i, x * share, count);
      write(row_of(slope, r) + i, share + bounded * bend * first, count);
      if (curvature.numbers == nullptr) return;
      const Vec inner = (1.f - 2.f * share) * first * first + second;
      write(row_of(curvature, r) + i, bend * (2.f * first + bounded * inner), count);
    });
  }
}

void add_column_sums(FloatRows a, FloatRows b, const float* factors, BlockSize size, float* sums) {
  over_row(size.width, [&](int64_t i, int count) {
    Vec total = read(sums + i, count);
    for (int64_t r = 0; r < size.rows; ++r) {
      Vec value = read(row_of(a, r) + i, count);
      if (b.numbers != nullptr) value = value * read(row_of(b, r) + i, count);
      total += value * (factors == nullptr ? 1.f : factors[r]);
    }
    write(sums + i, total, count);
  });
}

void weigh(FloatRows x, const float* factors, const float* other, const float* other_factors, BlockSize size,
           FloatRows to) {
  for (int64_t r = 0; r < size.rows; ++r) {
    over_row(size.width, [&](int64_t i, int count) {
      Vec value = read(row_of(x, r) + i, count) * factors[r];
      if (other != nullptr) value += read(other + i, count) * other_factors[r];
      write(row_of(to, r) + i, value, count);
    });
  }
}

void add_row_products(FloatRows x, const float* y, BlockSize size, float* sums) {
  for (int64_t r = 0; r < size.rows; ++r) {
    sums[r] += sum_over(
        size.width, [&](int64_t i, int count) { return read(row_of(x, r) + i, count) * read(y + i, count); });
  }
}

void multiply(FloatRows a, FloatRows b, float keep, BlockSize size, FloatRows to) {
  for (int64_t r = 0; r < size.rows; ++r) {
    over_row(size.width, [&](int64_t i, int count) {
      Vec value = read(row_of(a, r) + i, count) * read(row_of(b, r) + i, count);
      if (keep != 0) value += read(row_of(to, r) + i, count) * keep;
      write(row_of(to, r) + i, value, count);
    });
  }
}

void add_rows(FloatRows x, float factor, BlockSize size, FloatRows to) {
  for (int64_t r = 0; r < size.rows; ++r) {
    over_row(size.width, [&](int64_t i, int count) {
      write(row_of(to, r) + i, read(row_of(to, r) + i, count) + read(row_of(x, r) + i, count) * factor,
            count);
    });
  }
}

void combine(const float* x, int64_t count, float keep, float* to) {
  over_row(count, [&](int64_t i, int lanes) {
    Vec value = read(to + i, lanes) * keep;
    if (x != nullptr) value += read(x + i, lanes);
    write(to + i, value, lanes);
  });
}

double product(const float* x, const float* y, int64_t count) {
  // In stretches, so that a long sum keeps its digits.
  constexpr int64_t kStretch = 4096;
  double total = 0;
  for (int64_t first = 0; first < count; first += kStretch) {
    const int64_t length = count - first < kStretch ? count - first : kStretch;
    total += double(sum_over(length, [&](int64_t i, int lanes) {
      return read(x + first + i, lanes) * read(y + first + i, lanes);
    }));
  }
  return total;
}

}  // namespace

const InnerNormKernels inner_norm = {normalize, residual,        missing, descent,          descent_backward,
                                     gelu,      add_column_sums, weigh,   add_row_products, multiply,
                                     add_rows,  combine,         product};

}  // namespace lact::kernels::LACT_ISA
