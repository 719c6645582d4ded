#include <ATen/ATen.h>
#include <torch/autograd.h>

#include "lact/kernels/token_loss.h"
#include "lact/ops/dispatch/device.h"
#include "lact/ops/dispatch/dtypes.h"
#include "lact/ops/dispatch/work_items.h"
#include "lact/ops/linear/matrix_product.h"
#include "lact/ops/losses/token_loss.h"

namespace lact::ops::fused {

namespace {

/// Logits of so many elements at a time, 64 MB of float32. Every stretch adds to the whole gradient of the
/// weight, so short stretches would cost more in memory traffic than they save.
constexpr int64_t kLogits = int64_t(1) << 24;

/// bfloat16 only where the processor multiplies it; LibTorch emulates it at a third of float32's speed.
at::ScalarType product_type(const at::Tensor& hidden) {
  const auto type = hidden.scalar_type();
  return hidden.is_cpu() && type == at::kBFloat16 && !kernels::multiplies_pairs() ? at::kFloat : type;
}

/// The rows of one stretch, by a kernel on a processor and by LibTorch elsewhere.
struct Stretch {
  at::Tensor logits, targets, statistics;

  bool has_kernel() const {
    const auto type = logits.scalar_type();
    return logits.is_cpu() && (type == at::kFloat || type == at::kBFloat16);
  }
  kernels::TokenLossTask task() const {
    return {logits.scalar_type() == at::kBFloat16, logits.size(1), logits.data_ptr(),
            targets.data_ptr<int64_t>(), statistics.data_ptr<float>()};
  }
  at::Tensor largest() const { return statistics.select(1, 0); }
  at::Tensor sum() const { return statistics.select(1, 1); }

  template <class Body>
  void each_rows(const Body& body) const {
    constexpr int64_t kRows = 4;
    const int64_t rows = logits.size(0);
    for_each_item((rows + kRows - 1) / kRows,
                  [&](int64_t item, int64_t) { body(item * kRows, std::min(rows, (item + 1) * kRows)); });
  }

  void forward(at::Tensor losses) {
    if (has_kernel()) {
      const auto run = kernels::token_loss_kernels().forward;
      const auto rows = task();
      auto* to = losses.data_ptr<float>();
      each_rows([&](int64_t begin, int64_t end) { run(rows, to, begin, end); });
      return;
    }
    const at::Tensor wide = at_least_float(logits);
    largest().copy_(wide.amax(1));
    sum().copy_((wide - largest().unsqueeze(1)).exp_().sum(1));
    losses.copy_(largest() - wide.gather(1, targets.unsqueeze(1)).squeeze(1) + sum().log());
  }

  /// The logits become their gradients.
  void backward(const at::Tensor& upstream) {
    if (has_kernel()) {
      const auto run = kernels::token_loss_kernels().backward;
      const auto rows = task();
      const auto* from = upstream.data_ptr<float>();
      each_rows([&](int64_t begin, int64_t end) { run(rows, from, begin, end); });
      return;
    }
    at::Tensor gradient = (at_least_float(logits) - largest().unsqueeze(1)).exp_();
    gradient.mul_((upstream / sum()).unsqueeze(1));
    gradient.scatter_add_(1, targets.unsqueeze(1), -upstream.unsqueeze(1));
    logits.copy_(gradient);
  }
};

/// out = a b, or out += a b.
void multiply_into(at::Tensor out, const at::Tensor& a, const at::Tensor& b, bool accumulate) {
  if (can_multiply(out) && can_multiply(a) && can_multiply(b)) return multiply(out, a, b, {accumulate});
  if (!accumulate) {
    at::mm_out(out, a, b);
  } else if (out.scalar_type() == a.scalar_type()) {
    out.addmm_(a, b);
  } else {
    out.add_(at::mm(a, b));
  }
}

/// Calls body(first token, count, their logits) for each stretch, all in the same memory.
template <class Body>
void for_each_stretch(const at::Tensor& hidden, const at::Tensor& weight, const Body& body) {
  const int64_t tokens = hidden.size(0), vocabulary = weight.size(0);
  const int64_t length = std::min(tokens, std::max<int64_t>(1, kLogits / vocabulary));
  const at::Tensor space = at::empty({length, vocabulary}, hidden.options());
  for (int64_t begin = 0; begin < tokens; begin += length) {
    const int64_t count = std::min(length, tokens - begin);
    at::Tensor logits = space.narrow(0, 0, count);
    multiply_into(logits, hidden.narrow(0, begin, count), weight.t(), false);
    body(begin, count, logits);
  }
}

/// Gradients of both factors of the logits. Undefined where not wanted.
struct Gradients {
  Gradients(const at::Tensor& hidden, const at::Tensor& matrix, bool of_hidden, bool of_weight) {
    if (of_hidden) dhidden = at::empty(hidden.sizes(), hidden.options());
    if (of_weight) {
      dweight = at::zeros(matrix.sizes(), matrix.options().dtype(wide_type(matrix.scalar_type())));
    }
  }
  void add(const at::Tensor& dlogits, const at::Tensor& hidden, const at::Tensor& matrix, int64_t begin) {
    const int64_t count = dlogits.size(0);
    if (dhidden.defined()) multiply_into(dhidden.narrow(0, begin, count), dlogits, matrix, false);
    if (dweight.defined()) multiply_into(dweight, dlogits.t(), hidden.narrow(0, begin, count), true);
  }
  at::Tensor dhidden, dweight;
};

at::Tensor defined_or_empty(const at::Tensor& x, const at::Tensor& like) {
  return x.defined() ? x : at::empty({0}, like.options());
}

/// A mean of losses gives every token the same upstream gradient, so the forward pass computes the gradients
/// for an upstream of one while it has the logits; the backward pass scales them. Only for the weight's
/// gradient under upstream gradients that differ, and for a second backward pass, the logits are made again.
struct TokenLosses : torch::autograd::Function<TokenLosses> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& hidden,
                            const at::Tensor& weight, const at::Tensor& wanted, bool of_hidden,
                            bool of_weight) {
    const auto type = product_type(hidden);
    const at::Tensor inputs = hidden.to(type), matrix = weight.to(type), targets = wanted.contiguous();
    const auto wide = hidden.options().dtype(wide_type(type));
    const at::Tensor losses = at::empty({hidden.size(0)}, wide);
    const at::Tensor statistics = at::empty({hidden.size(0), 2}, wide);
    const at::Tensor ones = at::ones({hidden.size(0)}, wide);
    Gradients gradients(inputs, matrix, of_hidden, of_weight);
    for_each_stretch(inputs, matrix, [&](int64_t begin, int64_t count, const at::Tensor& logits) {
      Stretch rows = {logits, targets.narrow(0, begin, count), statistics.narrow(0, begin, count)};
      rows.forward(losses.narrow(0, begin, count));
      if (!of_hidden && !of_weight) return;
      rows.backward(ones.narrow(0, begin, count));
      gradients.add(logits, inputs, matrix, begin);
    });
    context->save_for_backward({hidden, weight, targets, statistics});
    context->saved_data["dhidden"] = defined_or_empty(gradients.dhidden, hidden);
    context->saved_data["dweight"] = defined_or_empty(gradients.dweight, hidden);
    context->saved_data["fresh"] = true;
    return losses;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list incoming) {
    const auto saved = context->get_saved_variables();
    const at::Tensor &hidden = saved[0], &weight = saved[1];
    const bool of_hidden = context->needs_input_grad(0), of_weight = context->needs_input_grad(1);
    const at::Tensor upstream = incoming[0].contiguous();
    const bool fresh = context->saved_data["fresh"].toBool();
    const bool equal = has_values(upstream) && upstream.eq(upstream[0]).all().item<bool>();
    const Gradients again =
        differentiate(saved, upstream, of_hidden && !fresh, of_weight && !(fresh && equal));
    at::Tensor dhidden = again.dhidden, dweight = again.dweight;
    if (of_hidden && fresh) {
      dhidden = context->saved_data["dhidden"].toTensor().mul_(upstream.unsqueeze(1));
    }
    if (of_weight && fresh && equal) {
      dweight = context->saved_data["dweight"].toTensor().mul_(upstream[0]);
    }
    context->saved_data["fresh"] = false;
    context->saved_data["dhidden"] = context->saved_data["dweight"] = c10::IValue();
    if (of_hidden) dhidden = dhidden.to(hidden.scalar_type());
    if (of_weight) dweight = dweight.to(weight.scalar_type());
    return {dhidden, dweight, at::Tensor(), at::Tensor(), at::Tensor()};
  }

  static Gradients differentiate(const torch::autograd::variable_list& saved, const at::Tensor& upstream,
                                 bool of_hidden, bool of_weight) {
    const at::Tensor &targets = saved[2], &statistics = saved[3];
    const auto type = product_type(saved[0]);
    const at::Tensor inputs = saved[0].to(type), matrix = saved[1].to(type);
    Gradients gradients(inputs, matrix, of_hidden, of_weight);
    if (!of_hidden && !of_weight) return gradients;
    for_each_stretch(inputs, matrix, [&](int64_t begin, int64_t count, const at::Tensor& logits) {
      Stretch{logits, targets.narrow(0, begin, count), statistics.narrow(0, begin, count)}.backward(
          upstream.narrow(0, begin, count));
      gradients.add(logits, inputs, matrix, begin);
    });
    return gradients;
  }
};

}  // namespace

at::Tensor token_losses(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& targets) {
  const bool learning = at::GradMode::is_enabled();
  return TokenLosses::apply(hidden, weight, targets, learning && hidden.requires_grad(),
                            learning && weight.requires_grad());
}

}  // namespace lact::ops::fused
