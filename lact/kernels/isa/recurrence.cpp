#include "lact/kernels/recurrence.h"

#include "lact/kernels/simd.h"

namespace lact::kernels::LACT_ISA {

extern const RecurrenceKernels recurrence;

namespace {

/// e^x, exactly 0 where it would be tiny. x is finite, or not a number and stays so.
LACT_INLINE Vec decay_of(Vec x) { return select(x < -87.f, Vec{}, exp(x) + x * 0.f); }

/// what(column, count) for vectors of up to kLanes columns.
template <class What>
LACT_INLINE void over_columns(int64_t columns, const What& what) {
  int64_t i = 0;
  for (; i + kLanes <= columns; i += kLanes) what(i, kLanes);
  if (i < columns) what(i, columns - i);
}
template <class Number>
LACT_INLINE Vec load_columns(const Number* from, int64_t count) {
  return count >= kLanes ? load(from) : load_some(from, count);
}
template <class Number>
LACT_INLINE void store_columns(Number* to, Vec value, int64_t count) {
  if (count >= kLanes) {
    store(to, value);
  } else {
    store_some(to, value, count);
  }
}
LACT_INLINE float* row_at(FloatRows rows, int64_t row) { return rows.numbers + row * rows.stride; }

template <class Number>
void read_rows_of(const Number* from, int64_t stride, int64_t rows, int64_t columns, const float* factors,
                  FloatRows to) {
  for (int64_t r = 0; r < rows; ++r) {
    const float factor = factors == nullptr ? 1 : factors[r];
    over_columns(columns, [&](int64_t i, int64_t count) {
      store_columns(row_at(to, r) + i, load_columns(from + r * stride + i, count) * factor, count);
    });
  }
}
void read_rows(NumberRows from, int64_t rows, int64_t columns, const float* factors, FloatRows to) {
  if (from.bf16) {
    read_rows_of(static_cast<const uint16_t*>(from.numbers), from.stride, rows, columns, factors, to);
  } else {
    read_rows_of(static_cast<const float*>(from.numbers), from.stride, rows, columns, factors, to);
  }
}

template <class Number>
void write_rows_of(FloatRows from, int64_t rows, int64_t columns, Number* to, int64_t stride) {
  for (int64_t r = 0; r < rows; ++r) {
    over_columns(columns, [&](int64_t i, int64_t count) {
      store_columns(to + r * stride + i, load_columns(row_at(from, r) + i, count), count);
    });
  }
}
void write_rows(FloatRows from, int64_t rows, int64_t columns, OutputRows to) {
  if (to.bf16) {
    write_rows_of(from, rows, columns, static_cast<uint16_t*>(to.numbers), to.stride);
  } else {
    write_rows_of(from, rows, columns, static_cast<float*>(to.numbers), to.stride);
  }
}

void scale_rows(FloatRows from, int64_t rows, int64_t columns, const float* factors, FloatRows to) {
  read_rows_of(from.numbers, from.stride, rows, columns, factors, to);
}

void scale_columns(FloatRows x, int64_t rows, int64_t columns, const float* factors) {
  for (int64_t r = 0; r < rows; ++r) {
    over_columns(columns, [&](int64_t i, int64_t count) {
      const Vec value = load_columns(row_at(x, r) + i, count);
      store_columns(row_at(x, r) + i, value * load_columns(factors + i, count), count);
    });
  }
}

void add_column_products(FloatRows a, FloatRows b, int64_t rows, int64_t columns, float* sums) {
  over_columns(columns, [&](int64_t i, int64_t count) {
    Vec total = load_columns(sums + i, count);
    for (int64_t r = 0; r < rows; ++r) {
      total += load_columns(row_at(a, r) + i, count) * load_columns(row_at(b, r) + i, count);
    }
    store_columns(sums + i, total, count);
  });
}

void add_row_products(FloatRows a, FloatRows b, int64_t rows, int64_t columns, float sign, float* sums) {
  for (int64_t r = 0; r < rows; ++r) {
    Vec total = {};
    over_columns(columns, [&](int64_t i, int64_t count) {
      total += load_columns(row_at(a, r) + i, count) * load_columns(row_at(b, r) + i, count);
    });
    sums[r] += sign * sum(total);
  }
}

void keep_causal(FloatRows a, int64_t rows, bool diagonal, float scale) {
  for (int64_t i = 0; i < rows; ++i) {
    float* row = row_at(a, i);
    const int64_t kept = diagonal ? i + 1 : i;
    for (int64_t j = 0; j < kept; ++j) row[j] *= scale;
    for (int64_t j = kept; j < rows; ++j) row[j] = 0;
  }
}

void decay_causal(FloatRows a, int64_t rows, const float* sums) {
  for (int64_t i = 0; i < rows; ++i) {
    float* row = row_at(a, i);
    over_columns(i + 1, [&](int64_t j, int64_t count) {
      const Vec decay = decay_of(sums[i] - load_columns(sums + j, count));
      store_columns(row + j, load_columns(row + j, count) * decay, count);
    });
    for (int64_t j = i + 1; j < rows; ++j) row[j] = 0;
  }
}

void inverse(FloatRows products, const float* beta, int64_t rows, FloatRows to) {
  // Row i of the inverse is e_i - sum over j < i of M_ij times row j.
  constexpr int kMostVectors = kMostChunkRows / kLanes;
  const int vectors = int((rows + kLanes - 1) / kLanes);
  for (int64_t i = 0; i < rows; ++i) {
    Vec sums[kMostVectors] = {};
    const int filled = int((i + kLanes - 1) / kLanes);
    for (int64_t j = 0; j < i; ++j) {
      const float factor = -beta[i] * row_at(products, i)[j];
      for (int v = 0; v < filled; ++v) sums[v] += factor * load(row_at(to, j) + v * kLanes);
    }
    for (int v = 0; v < vectors; ++v) store(row_at(to, i) + v * kLanes, sums[v]);
    row_at(to, i)[i] = 1;
  }
}

float channel_sums(NumberRows g, int64_t rows, int64_t channels, FloatRows sums) {
  const auto* from = static_cast<const float*>(g.numbers);
  float fall = 0;
  over_columns(channels, [&](int64_t i, int64_t count) {
    Vec total = {}, first = {};
    for (int64_t r = 0; r < rows; ++r) {
      const Vec own = load_columns(from + r * g.stride + i, count);
      total += select(own < kStrongestDecay, splat(kStrongestDecay), own);
      if (r == 0) first = total;
      store_columns(row_at(sums, r) + i, total, count);
    }
    const float most = largest(first - total);
    fall = most > fall ? most : fall;
  });
  return fall;
}

void decay_channels(FloatRows q, FloatRows k, FloatRows sums, int64_t rows, int64_t channels, bool from_start,
                    const ChannelDecays& to) {
  over_columns(channels, [&](int64_t i, int64_t count) {
    const Vec end = load_columns(row_at(sums, rows - 1) + i, count), start = from_start ? Vec{} : end;
    const Vec reference = decay_of(start);
    store_columns(to.whole + i, decay_of(end), count);
    store_columns(to.reference + i, reference, count);
    for (int64_t r = 0; r < rows; ++r) {
      const Vec sum = load_columns(row_at(sums, r) + i, count);
      const Vec q_scale = decay_of(sum - start), k_scale = decay_of(end - sum);
      store_columns(row_at(to.q_scales, r) + i, q_scale, count);
      store_columns(row_at(to.k_scales, r) + i, k_scale, count);
      const Vec query = load_columns(row_at(q, r) + i, count) * q_scale;
      store_columns(row_at(to.q, r) + i, query, count);
      store_columns(row_at(to.q_before, r) + i, query * reference, count);
      store_columns(row_at(to.k, r) + i, load_columns(row_at(k, r) + i, count) * k_scale, count);
    }
  });
}

void multiply_rows(FloatRows x, FloatRows factors, int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) {
    over_columns(columns, [&](int64_t i, int64_t count) {
      float* to = row_at(x, r) + i;
      store_columns(to, load_columns(to, count) * load_columns(row_at(factors, r) + i, count), count);
    });
  }
}
void scale_gradients(const ChannelDecays& decays, int64_t rows, int64_t channels, FloatRows dq,
                     FloatRows dk) {
  multiply_rows(dq, decays.q_scales, rows, channels);
  multiply_rows(dk, decays.k_scales, rows, channels);
}

template <class Number>
void channel_gradients_of(const ChannelGradients& in, int64_t rows, int64_t channels, OutputRows dq_to,
                          OutputRows dk_to, FloatRows dg) {
  over_columns(channels, [&](int64_t i, int64_t count) {
    Vec total = load_columns(in.tail + i, count);
    for (int64_t r = rows - 1; r >= 0; --r) {
      const auto own = [&](FloatRows x) { return load_columns(row_at(x, r) + i, count); };
      const auto write = [&](OutputRows to, Vec x) {
        store_columns(static_cast<Number*>(to.numbers) + r * to.stride + i, x, count);
      };
      const Vec q = own(in.q), k = own(in.k);
      Vec dq = own(in.dq), dk = own(in.dk);
      if (in.decays != nullptr) {
        dq *= own(in.decays->q_scales);
        dk *= own(in.decays->k_scales);
      }
      total += q * dq - k * dk;
      store_columns(row_at(dg, r) + i, total, count);
      write(dq_to, dq + in.diagonal[r] * k);
      write(dk_to, dk + in.diagonal[r] * q);
    }
  });
}
void channel_gradients(const ChannelGradients& in, int64_t rows, int64_t channels, OutputRows dq,
                       OutputRows dk, FloatRows dg) {
  if (dq.bf16) {
    channel_gradients_of<uint16_t>(in, rows, channels, dq, dk, dg);
  } else {
    channel_gradients_of<float>(in, rows, channels, dq, dk, dg);
  }
}

template <bool Add>
void decay_rows(FloatRows x, FloatRows sums, const float* reference, float sign, int64_t rows,
                int64_t channels, FloatRows to) {
  for (int64_t r = 0; r < rows; ++r) {
    over_columns(channels, [&](int64_t i, int64_t count) {
      const Vec fall = sign * (load_columns(row_at(sums, r) + i, count) - load_columns(reference + i, count));
      Vec value = load_columns(row_at(x, r) + i, count) * decay_of(fall);
      if (Add) value += load_columns(row_at(to, r) + i, count);
      store_columns(row_at(to, r) + i, value, count);
    });
  }
}

void pair_products(FloatRows q, FloatRows k, FloatRows sums, int64_t rows, int64_t channels, float scale,
                   FloatRows a) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < rows; ++j) row_at(a, i)[j] = 0;
    for (int64_t j = 0; j <= i; ++j) {
      Vec total = {};
      over_columns(channels, [&](int64_t c, int64_t count) {
        const auto own = [&](FloatRows x, int64_t r) { return load_columns(row_at(x, r) + c, count); };
        total += own(q, i) * own(k, j) * decay_of(own(sums, i) - own(sums, j));
      });
      row_at(a, i)[j] = scale * sum(total);
    }
  }
}

void add_pair_gradients(FloatRows q, FloatRows k, FloatRows sums, int64_t rows, int64_t channels,
                        FloatRows da, FloatRows dq, FloatRows dk) {
  for (int64_t i = 0; i < rows; ++i) {
    over_columns(channels, [&](int64_t c, int64_t count) {
      const auto own = [&](FloatRows x, int64_t r) { return load_columns(row_at(x, r) + c, count); };
      const Vec query = own(q, i), sum = own(sums, i);
      Vec query_gradient = own(dq, i);
      for (int64_t j = 0; j <= i; ++j) {
        const Vec factor = row_at(da, i)[j] * decay_of(sum - own(sums, j));
        query_gradient += factor * own(k, j);
        store_columns(row_at(dk, j) + c, own(dk, j) + factor * query, count);
      }
      store_columns(row_at(dq, i) + c, query_gradient, count);
    });
  }
}

/// what(column, counts...) for blocks of several vectors: the sums of a block stay in registers.
constexpr int kStepVectors = 4;

template <bool Write, class Load, class Store>
LACT_INLINE void step_columns(const RecurrenceStep& step, int64_t column, int vectors, const Load& load_at,
                              const Store& store_at) {
  Vec values[kStepVectors] = {}, sums[kStepVectors] = {};
  if (Write) {
    for (int w = 0; w < vectors; ++w) values[w] = load_at(step.v + column, w);
  }
  for (int64_t row = 0; row < step.width; ++row) {
    const float* from = step.state + row * step.value_width + column;
    for (int w = 0; w < vectors; ++w) {
      Vec state = load_at(from, w);
      if (Write) {
        if (step.decay != nullptr) state *= step.decay[row];
        state += step.k[row] * values[w];
        store_at(step.next + row * step.value_width + column, w, state);
        sums[w] += step.q[row] * state;
      } else {
        sums[w] += step.k[row] * state;
      }
    }
  }
  for (int w = 0; w < vectors; ++w) store_at(step.out + column, w, sums[w]);
}

template <bool Write>
void over_state(const RecurrenceStep& step) {
  int64_t column = step.begin;
  const auto load_all = [](const float* from, int w) { return load(from + w * kLanes); };
  const auto store_all = [](float* to, int w, Vec x) { store(to + w * kLanes, x); };
  for (; column + kStepVectors * kLanes <= step.end; column += kStepVectors * kLanes) {
    step_columns<Write>(step, column, kStepVectors, load_all, store_all);
  }
  for (; column < step.end; column += kLanes) {
    const int64_t count = step.end - column;
    step_columns<Write>(
        step, column, 1, [&](const float* from, int) { return load_columns(from, count); },
        [&](float* to, int, Vec x) { store_columns(to, x, count); });
  }
}

}  // namespace

const RecurrenceKernels recurrence = {
    read_rows,        write_rows,         scale_rows,        scale_columns,     add_column_products,
    add_row_products, keep_causal,        decay_causal,      inverse,           channel_sums,
    decay_channels,   scale_gradients,    channel_gradients, decay_rows<false>, decay_rows<true>,
    pair_products,    add_pair_gradients, over_state<false>, over_state<true>};

}  // namespace lact::kernels::LACT_ISA
