// Golden cases of quality measures.
#include <ATen/ATen.h>

#include "lact/golden/kinds.h"
#include "lact/ops/losses/l1_dssim.h"
#include "lact/ops/losses/losses.h"
#include "lact/ops/losses/ssim_window.h"

namespace lact::golden {

namespace {

struct NoOptions {
  template <class Visitor>
  void visit(Visitor&&) {}
};

struct BlockOptions {
  int64_t block = 0;
  template <class Visitor>
  void visit(Visitor&& field) {
    field("block", block, "");
  }
};

struct L1DssimCase {
  double lambda_dssim = 0, sigma = 0, C1 = 0, C2 = 0;
  int64_t window = 0;
  std::string padding;
  template <class Visitor>
  void visit(Visitor&& field) {
    field("lambda_dssim", lambda_dssim, "");
    field("window", window, "");
    field("sigma", sigma, "");
    field("padding", padding, "");
    field("C1", C1, "");
    field("C2", C2, "");
  }
};

}  // namespace

void run_l1_dssim(Run& run) {
  L1DssimCase options;
  options::read(run.options(), options, "options");
  LACT_CHECK(options.window == ops::kSsimWindow && options.sigma == ops::kSsimSigma &&
                 options.padding == "zero" && std::abs(options.C1 - ops::kSsimC1) < 1e-12 &&
                 std::abs(options.C2 - ops::kSsimC2) < 1e-12,
             "options: another window or other constants than ours");
  const at::Tensor image = run.input("image"), target = run.input("target");
  const at::Tensor loss = ops::l1_dssim(image, target, options.lambda_dssim);
  run.expect("l1", ops::l1_dssim(image, target, 0).reshape({1}));
  run.expect("ssim", (1 - ops::l1_dssim(image, target, 1)).reshape({1}));
  run.expect("loss", loss.reshape({1}));
  run.expect_gradients_of(loss);
}

void run_psnr_ssim(Run& run) {
  NoOptions options;
  options::read(run.options(), options, "options");
  const at::Tensor a = run.input("image_a"), b = run.input("image_b");
  const at::Tensor map = ops::ssim_map(a, b);
  run.expect("mse", ops::image_mse(a, b));
  run.expect("psnr", ops::psnr(a, b));
  run.expect("ssim_map", map);
  run.expect("ssim_per_channel", map.mean({2, 3}));
  run.expect("ssim", map.mean({1, 2, 3}));
}

void run_per_position_loss(Run& run) {
  BlockOptions options;
  options::read(run.options(), options, "options");
  const at::Tensor loss = ops::next_token_loss(run.input("logits"), run.input("input_ids"));
  const at::Tensor by_position = loss.mean(0);
  const at::Tensor mean = loss.mean();
  run.expect("per_token_loss", loss);
  run.expect("per_position_loss", by_position);
  run.expect("per_block_loss", ops::block_means(by_position, options.block));
  run.expect("mean_loss", mean.reshape({1}));
  run.expect("perplexity", mean.exp().reshape({1}));
  run.expect("loss", mean.reshape({1}));
  run.expect_gradients_of(mean);
}

}  // namespace lact::golden
