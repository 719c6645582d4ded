// Value and gradient in one pass over the planes. With the window w, μ = w * x, E = w * x², F = w * x y and
// S(μ, E, F) the similarity of a pixel, the sum of all S has the gradient
//   w * ∂S/∂μ + 2 x (w * ∂S/∂E) + y (w * ∂S/∂F)
// as the window is symmetric.
#include <ATen/ATen.h>

#include <vector>

#include "lact/kernels/blur.h"
#include "lact/ops/dispatch/apply_function.h"
#include "lact/ops/dispatch/work_items.h"
#include "lact/ops/losses/l1_dssim.h"
#include "lact/ops/losses/ssim_window.h"

namespace lact::ops::fused {

namespace {

static_assert(kernels::kBlurReach == kSsimWindow / 2);

struct DssimPlane {
  int64_t height, width;
  const float *x, *y;
  float* gradient;  ///< of the loss
};

struct DssimSums {
  double absolute = 0, ssim = 0;
};

/// `l1` and `similarity`: what |x - y| and S of a pixel weigh in the loss.
DssimSums plane_loss(const DssimPlane& plane, float l1, float similarity) {
  const int64_t count = plane.height * plane.width;
  std::vector<float> memory(size_t(6 * count + kernels::blur_line_floats(plane.width)));
  float *const mean_x = memory.data(), *const mean_y = mean_x + count, *const square_x = mean_y + count,
               *const square_y = square_x + count, *const product = square_y + count,
               *const scratch = product + count, *const line = scratch + count;
  const auto wide = ssim_weights();
  float window[kernels::kBlurReach + 1];
  for (int64_t i = 0; i <= kernels::kBlurReach; ++i) window[i] = float(wide[size_t(kernels::kBlurReach + i)]);
  const auto blur = [&](const float* from, float* to) {
    kernels::blur_kernels().blur(window, from, to, line, plane.height, plane.width);
  };
  const float *x = plane.x, *y = plane.y;
  blur(x, mean_x);
  blur(y, mean_y);
  for (int64_t i = 0; i < count; ++i) scratch[i] = x[i] * x[i];
  blur(scratch, square_x);
  for (int64_t i = 0; i < count; ++i) scratch[i] = y[i] * y[i];
  blur(scratch, square_y);
  for (int64_t i = 0; i < count; ++i) scratch[i] = x[i] * y[i];
  blur(scratch, product);

  constexpr auto c1 = float(kSsimC1), c2 = float(kSsimC2);
  DssimSums sums;
  for (int64_t row = 0; row < plane.height; ++row) {
    float absolute = 0, ssim = 0;
    for (int64_t i = row * plane.width; i < (row + 1) * plane.width; ++i) {
      const float mx = mean_x[i], my = mean_y[i];
      const float a1 = 2 * mx * my + c1, a2 = 2 * (product[i] - mx * my) + c2;
      const float b1 = mx * mx + my * my + c1, b2 = square_x[i] - mx * mx + square_y[i] - my * my + c2;
      const float share = 1 / (b1 * b2), s = a1 * a2 * share;
      absolute += x[i] > y[i] ? x[i] - y[i] : y[i] - x[i];
      ssim += s;
      mean_x[i] = 2 * my * (a2 - a1) * share + 2 * mx * s * (1 / b2 - 1 / b1);  // ∂S/∂μ
      square_x[i] = -s / b2;                                                    // ∂S/∂E
      product[i] = 2 * a1 * share;                                              // ∂S/∂F
    }
    sums.absolute += absolute;
    sums.ssim += ssim;
  }
  blur(mean_x, mean_y);
  blur(square_x, square_y);
  blur(product, scratch);
  for (int64_t i = 0; i < count; ++i) {
    const float sign = x[i] > y[i] ? 1.f : x[i] < y[i] ? -1.f : 0.f;
    plane.gradient[i] = l1 * sign + similarity * (mean_y[i] + 2 * x[i] * square_y[i] + y[i] * scratch[i]);
  }
  return sums;
}

struct L1Dssim : torch::autograd::Function<L1Dssim> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& image,
                            const at::Tensor& target, double lambda) {
    const at::Tensor x = image.contiguous(), y = target.contiguous(), gradient = at::empty_like(x);
    const int64_t height = x.size(2), width = x.size(3), planes = x.size(0) * x.size(1);
    const auto each = 1 / double(x.numel());
    std::vector<DssimSums> sums(size_t(planes), DssimSums{});
    for_each_item(planes, [&](int64_t plane, int64_t) {
      const int64_t at = plane * height * width;
      sums[size_t(plane)] = plane_loss({height, width, x.data_ptr<float>() + at, y.data_ptr<float>() + at,
                                        gradient.data_ptr<float>() + at},
                                       float((1 - lambda) * each), float(-lambda * each));
    });
    double loss = lambda;
    for (const DssimSums& sum : sums) loss += (1 - lambda) * each * sum.absolute - lambda * each * sum.ssim;
    context->save_for_backward({gradient});
    return at::full({}, loss, x.options());
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    return {context->get_saved_variables()[0] * gradients[0], at::Tensor(), at::Tensor()};
  }
};

}  // namespace

bool fits_l1_dssim(const at::Tensor& image, const at::Tensor& target) {
  return image.is_cpu() && target.is_cpu() && image.scalar_type() == at::kFloat && image.numel() > 0;
}

at::Tensor l1_dssim(const at::Tensor& image, const at::Tensor& target, double lambda) {
  return apply_function<L1Dssim>(image, target, lambda);
}

}  // namespace lact::ops::fused
