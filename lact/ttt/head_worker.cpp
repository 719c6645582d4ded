#include "lact/ttt/head_worker.h"

#include <ATen/ATen.h>

#include "lact/kernels/row_steps.h"

namespace lact::ttt::heads {

using fused::ChunkStep;
using fused::kBlockRows;
using fused::MatrixPlace;

HeadTask::HeadTask(const HeadPlan& plan, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                   HeadMatrices matrices)
    : plan(plan),
      q(q),
      k(k),
      v(v),
      matrices(std::move(matrices)),
      has_norms(plan.rule.norm_placement != NormPlacement::none) {
  const MatrixPlace& last = plan.places.back();
  weights_size = kernels::round_up_to(last.offset + last.size(), 32);
  for (size_t i = 0; has_norms && i < plan.places.size(); ++i) {
    if (plan.written[i]) norms_size += plan.places[i].rows;
  }
  state_size = (plan.rule.momentum ? 2 : 1) * weights_size + norms_size;
}

HeadWorker::HeadWorker(const HeadTask& task, int64_t head)
    : task_(task),
      plan_(task.plan),
      head_(head),
      bench_(task.k.bf16() && kernels::multiplies_pairs() ? kernels::Packing::pairs
                                                          : kernels::Packing::singles),
      passes_(plan_.make_passes(bench_, {plan_.places, plan_.residual})),
      rates_(bench_.numbers(int64_t(2 * plan_.places.size()) * kBlockRows)) {
  if (!task_.has_norms) return;
  step_ = zeros(task_.weights_size);
  norm_gradients_ = zeros(task_.norms_size);
}

float* HeadWorker::zeros(int64_t count) {
  float* numbers = bench_.numbers(count);
  std::fill_n(numbers, count, 0.F);
  return numbers;
}

void HeadWorker::read(const Matrices& from, float* to) const {
  for (size_t i = 0; i < plan_.places.size(); ++i) {
    const MatrixPlace& place = plan_.places[i];
    if (!from[i].defined()) continue;
    kernels::recurrence_kernels().read_rows({of_head(from[i], head_), place.columns}, place.rows,
                                            place.columns, nullptr, place.in(to));
  }
}

void HeadWorker::write(float* from, const Matrices& to) const {
  for (size_t i = 0; i < plan_.places.size(); ++i) {
    const MatrixPlace& place = plan_.places[i];
    if (!to[i].defined()) continue;
    kernels::recurrence_kernels().write_rows(place.in(from), place.rows, place.columns,
                                             {of_head(to[i], head_), place.columns});
  }
}

template <class Body>
void HeadWorker::for_each_written(const Body& body) const {
  int64_t row = 0;
  for (size_t i = 0; i < plan_.places.size(); ++i) {
    if (!plan_.written[i]) continue;
    body(i, plan_.places[i], row);
    row += plan_.places[i].rows;
  }
}

float HeadWorker::decay_of(const ChunkStep& chunk) const {
  const float* beta = of_head(task_.matrices.beta, head_);
  double sum = 0;
  for (int64_t t = chunk.written.begin; t < chunk.written.end; ++t) sum += beta[t];
  return float(sum / double(chunk.written.size()));
}

void HeadWorker::decay(float* momenta, float factor) const {
  for_each_written([&](size_t, const MatrixPlace& place, int64_t) {
    kernel_.combine(nullptr, place.size(), factor, momenta + place.offset);
  });
}

/// Uphill is downhill with negative rates.
fused::WrittenBlock HeadWorker::block(int64_t token, int64_t rows) const {
  fused::WrittenBlock own = {task_.k.rows(head_, token), task_.v.rows(head_, token), rows, {}};
  own.rates.resize(plan_.places.size());
  for_each_written([&](size_t i, const MatrixPlace&, int64_t) {
    own.rates[i] = rates_ + int64_t(i) * kBlockRows;
    const float* from = of_head(task_.matrices.rates[i], head_) + token;
    for (int64_t t = 0; t < rows; ++t) own.rates[i][t] = sign() * from[t];
  });
  return own;
}

void HeadWorker::write_chunk(const ChunkStep& chunk, float* state, float* next) {
  if (next != state) std::copy_n(state, task_.state_size, next);
  // The sums go where they are wanted: M <- mean(β) M + d, else W <- W + d, or a step that norms follow.
  float* sums = task_.has_norms ? step_ : next;
  if (plan_.rule.momentum) {
    sums = momentum(next);
    decay(sums, decay_of(chunk));
  } else if (task_.has_norms) {
    std::fill_n(step_, task_.weights_size, 0.F);
  }
  for_each_block(chunk.written,
                 [&](int64_t token, int64_t rows) { passes_->descend(block(token, rows), sums); });
  if (sums == next) return;
  for_each_written([&](size_t i, const MatrixPlace& place, int64_t row) {
    float* weight = next + place.offset;
    if (!task_.has_norms) return kernel_.combine(sums + place.offset, place.size(), 1, weight);
    kernels::row_steps_kernels().step({place.rows, place.stride, weight, sums + place.offset,
                                       of_head(task_.matrices.norms[i], head_),
                                       float(plan_.rule.norm_epsilon), nullptr, weight, norms(next) + row});
  });
}

/// From the gradients of the weights to those of W + step, and of the norms that were put back.
void HeadWorker::norms_backward(float* next, float* weights, const HeadGradients& to) {
  for_each_written([&](size_t i, const MatrixPlace& place, int64_t row) {
    float* slopes = weights + place.offset;
    kernels::row_steps_kernels().step_backward({place.rows, place.stride, next + place.offset,
                                                norms(next) + row, of_head(task_.matrices.norms[i], head_),
                                                float(plan_.rule.norm_epsilon), slopes, nullptr, slopes,
                                                norm_gradients_});
    float* sums = of_head(to.matrices.norms[i], head_);
    for (int64_t r = 0; r < place.rows; ++r) sums[r] += norm_gradients_[r];
  });
}

void HeadWorker::write_chunk_backward(const ChunkStep& chunk, float* state, float* next, float* weights,
                                      float* momenta, const HeadGradients& to, const HeadTokens& k,
                                      const HeadTokens& v) {
  if (task_.has_norms) norms_backward(next, weights, to);
  // M = mean(β) M₋₁ + d, W = W₋₁ + M:   M̄ += W̄,  d̄ = M̄,  β̄_t = (M̄ · M₋₁) / C,  M̄₋₁ = mean(β) M̄
  if (plan_.rule.momentum) {
    double along = 0;
    for_each_written([&](size_t, const MatrixPlace& place, int64_t) {
      kernel_.combine(weights + place.offset, place.size(), 1, momenta + place.offset);
      along += kernel_.product(momenta + place.offset, momentum(state) + place.offset, place.size());
    });
    float* beta = of_head(to.matrices.beta, head_);
    for (int64_t t = chunk.written.begin; t < chunk.written.end; ++t) {
      beta[t] += float(along / double(chunk.written.size()));
    }
    passes_->load_slopes(momenta);
    decay(momenta, decay_of(chunk));
  } else {
    passes_->load_slopes(weights);
  }

  // A chunk's last step comes first.
  const bool add = int64_t(chunk.repeat) + 1 < plan_.rule.steps;
  float* rate_gradients = rates_ + int64_t(plan_.places.size()) * kBlockRows;
  for_each_block(chunk.written, [&](int64_t token, int64_t rows) {
    fused::BlockGradients gradients = {output(k, head_, token), output(v, head_, token), add, {}};
    gradients.rates.resize(plan_.places.size());
    std::fill_n(rate_gradients, int64_t(plan_.places.size()) * kBlockRows, 0.F);
    for_each_written([&](size_t i, const MatrixPlace&, int64_t) {
      gradients.rates[i] = rate_gradients + int64_t(i) * kBlockRows;
    });
    passes_->descend_backward(block(token, rows), gradients, weights);
    for_each_written([&](size_t i, const MatrixPlace&, int64_t) {
      float* rates = of_head(to.matrices.rates[i], head_) + token;
      for (int64_t t = 0; t < rows; ++t) rates[t] += sign() * gradients.rates[i][t];
    });
  });
}

}  // namespace lact::ttt::heads
