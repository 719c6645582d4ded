#include "lact/ttt/passes/head_parts.h"

#include <algorithm>

#include "lact/ttt/inner_norm.h"
#include "lact/ttt/network.h"

namespace lact::ttt::fused {

using kernels::BlockSize;
using ops::fused::Bench;

std::vector<MatrixPlace> matrix_places(const FastWeightNetwork& network, int64_t in, int64_t hidden,
                                       int64_t out) {
  const auto shapes = network.matrices(in, hidden, out);
  const auto of_two = network.matrices(2, 2, 2);  // which matrices have one column whatever the sizes are
  std::vector<MatrixPlace> places;
  int64_t offset = 0;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const int64_t stride = of_two[i].in == 1 ? 1 : kernels::round_up_to(shapes[i].in, 32);
    places.push_back({shapes[i].out, shapes[i].in, stride, offset});
    offset += kernels::round_up_to(places.back().size(), 32);
  }
  return places;
}

void give_gradient(FloatRows from, int64_t rows, int64_t width, OutputRows to, bool add) {
  if (add) {
    kernels::inner_norm_kernels().add_rows(from, 1, {rows, width},
                                           {static_cast<float*>(to.numbers), to.stride});
  } else {
    kernels::recurrence_kernels().write_rows(from, rows, width, to);
  }
}

void set_zero(FloatRows to, int64_t rows, int64_t width) {
  for (int64_t r = 0; r < rows; ++r) std::fill_n(to.numbers + r * to.stride, width, 0.F);
}

HeadAffine::HeadAffine(Bench& bench, size_t weight, size_t bias, const HeadPassesOptions& options)
    : weight_index_(weight),
      bias_index_(bias),
      weight_place_(options.places[weight]),
      bias_place_(options.places[bias]),
      bias_(bench.numbers(bias_place_.rows)),
      bias_slope_(bench.numbers(bias_place_.rows)),
      scaled_(bench.matrix(kBlockRows, weight_place_.rows)),
      in_left_(bench, kBlockRows, weight_place_.columns),
      out_left_(bench, kBlockRows, weight_place_.rows),
      sum_left_(bench, weight_place_.rows, kBlockRows),
      forward_(bench, weight_place_.columns, weight_place_.rows),
      back_(bench, weight_place_.rows, weight_place_.columns),
      sum_right_(bench, kBlockRows, weight_place_.columns),
      slope_forward_(bench, weight_place_.columns, weight_place_.rows),
      slope_back_(bench, weight_place_.rows, weight_place_.columns) {}

void HeadAffine::load(const float* weights, bool backward) {
  const int64_t in = weight_place_.columns, out = weight_place_.rows;
  forward_.pack_transposed(weight_place_.in(weights), in, out);
  if (backward) back_.pack(weight_place_.in(weights), out, in);
  std::copy_n(weights + bias_place_.offset, out, bias_);
}

void HeadAffine::apply(NumberRows x, int64_t rows, FloatRows z, bool add) {
  in_left_.pack(x, rows, weight_place_.columns);
  forward_.multiply(in_left_, z, 1, add ? 1 : 0, z);
}

void HeadAffine::apply_transposed(FloatRows z, int64_t rows, FloatRows to, bool add) {
  out_left_.pack(z.read(), rows, weight_place_.rows);
  back_.multiply(out_left_, to, 1, add ? 1 : 0, to);
}

void HeadAffine::add_outer_products(FloatRows z, NumberRows x, int64_t rows, float* weights) {
  sum_left_.pack_transposed(z.read(), weight_place_.rows, rows);
  sum_right_.pack(x, rows, weight_place_.columns).add_product(sum_left_, weight_place_.in(weights));
}

void HeadAffine::add_gradients(FloatRows z, NumberRows x, int64_t rows, float* weights) {
  add_outer_products(z, x, rows, weights);
  kernel_.add_column_sums(z, {}, nullptr, {rows, bias_place_.rows}, weights + bias_place_.offset);
}

void HeadAffine::descend(FloatRows delta, NumberRows x, const WrittenBlock& block, float* sums) {
  const BlockSize size = {block.rows, weight_place_.rows};
  if (const float* rates = block.rates[weight_index_]) {
    kernel_.weigh(delta, rates, nullptr, nullptr, size, scaled_);
    add_outer_products(scaled_, x, block.rows, sums);
  }
  if (const float* rates = block.rates[bias_index_]) {
    kernel_.add_column_sums(delta, {}, rates, size, sums + bias_place_.offset);
  }
}

void HeadAffine::load_slopes(const float* sum_gradients) {
  const int64_t in = weight_place_.columns, out = weight_place_.rows;
  slope_forward_.pack_transposed(weight_place_.in(sum_gradients), in, out);
  slope_back_.pack(weight_place_.in(sum_gradients), out, in);
  std::copy_n(sum_gradients + bias_place_.offset, out, bias_slope_);
}

void HeadAffine::descend_backward(FloatRows delta, NumberRows x, const WrittenBlock& block,
                                  const BlockGradients& gradients, FloatRows delta_gradient,
                                  FloatRows x_gradient) {
  const int64_t rows = block.rows, in = weight_place_.columns, out = weight_place_.rows;
  const BlockSize size = {rows, out};
  const float *rates = block.rates[weight_index_], *bias_rates = block.rates[bias_index_];
  in_left_.pack(x, rows, in);
  slope_forward_.multiply(in_left_, delta_gradient);  // R
  kernels::recurrence_kernels().add_row_products(delta, delta_gradient, rows, out, 1,
                                                 gradients.rates[weight_index_]);
  if (bias_rates) kernel_.add_row_products(delta, bias_slope_, size, gradients.rates[bias_index_]);
  kernel_.weigh(delta_gradient, rates, bias_rates ? bias_slope_ : nullptr, bias_rates, size, delta_gradient);
  kernel_.weigh(delta, rates, nullptr, nullptr, size, scaled_);
  out_left_.pack(scaled_.read(), rows, out);
  slope_back_.add_product(out_left_, x_gradient);
}

HeadNorm::HeadNorm(Bench& bench, size_t scale, size_t shift, const HeadPassesOptions& options)
    : scale_place_(options.places[scale]),
      shift_place_(options.places[shift]),
      residual_(options.residual),
      z_(bench.matrix(kBlockRows, scale_place_.columns)),
      p_(bench.matrix(kBlockRows, scale_place_.columns)),
      delta_(bench.matrix(kBlockRows, scale_place_.columns)),
      p_gradient_(bench.matrix(kBlockRows, scale_place_.columns)),
      z_gradient_(bench.matrix(kBlockRows, scale_place_.columns)),
      inverse_(bench.numbers(kBlockRows)) {}

void HeadNorm::load(const float* weights) {
  channels_ = {weights + scale_place_.offset, weights + shift_place_.offset};
}

void HeadNorm::read(NumberRows x, const float* bias, int64_t rows, OutputRows out) {
  kernel_.normalize(z_, bias, {rows, width()}, InnerNorm::kEpsilon, inverse_);
  kernel_.residual(x, z_, channels_, {rows, width()}, out);
}

FloatRows HeadNorm::descend(const WrittenBlock& block, const float* bias) {
  const BlockSize size = {block.rows, width()};
  kernel_.normalize(z_, bias, size, InnerNorm::kEpsilon, inverse_);
  if (residual_) {
    kernel_.missing(block.k, block.v, z_, channels_, size, p_);
  } else {
    kernels::recurrence_kernels().read_rows(block.v, block.rows, width(), nullptr, p_);
  }
  kernel_.descent(z_, inverse_, p_, channels_.scale, size, delta_);
  return delta_;
}

FloatRows HeadNorm::read_backward(NumberRows out_gradient, const float* bias, int64_t rows,
                                  FloatRows gradient, float* weight_gradients) {
  const BlockSize size = {rows, width()};
  kernel_.normalize(z_, bias, size, InnerNorm::kEpsilon, inverse_);
  kernels::recurrence_kernels().read_rows(out_gradient, rows, width(), nullptr, gradient);
  kernel_.add_column_sums(gradient, z_, nullptr, size, weight_gradients + scale_place_.offset);
  kernel_.add_column_sums(gradient, {}, nullptr, size, weight_gradients + shift_place_.offset);
  kernel_.descent(z_, inverse_, gradient, channels_.scale, size, z_gradient_);
  return z_gradient_;
}

FloatRows HeadNorm::descend_backward(int64_t rows, FloatRows delta_gradient, const BlockGradients& gradients,
                                     FloatRows k_gradient, float* weight_gradients) {
  const BlockSize size = {rows, width()};
  kernel_.descent_backward(
      {z_, inverse_, p_, delta_, delta_gradient, channels_.scale, residual_, p_gradient_, z_gradient_,
       weight_gradients + scale_place_.offset, weight_gradients + shift_place_.offset},
      size);
  give_gradient(p_gradient_, rows, width(), gradients.v, gradients.add);
  if (residual_) kernel_.add_rows(p_gradient_, -1, size, k_gradient);
  return z_gradient_;
}

}  // namespace lact::ttt::fused
