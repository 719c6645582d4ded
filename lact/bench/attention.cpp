// Causal sliding-window attention, forward and backward.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include "lact/bench/areas.h"
#include "lact/bench/work.h"
#include "lact/ops/attention/windows.h"

namespace lact::bench {

namespace {

struct AttentionShape {
  int64_t tokens, window, heads, width;
  std::string name() const {
    return fmt::format("{} tokens, window {}, {}x{}", tokens, window, heads, width);
  }
};

std::vector<AttentionShape> attention_shapes(bool quick) {
  if (quick) return {{160, 48, 2, 16}};
  return {{8192, 2048, 12, 64}, {8192, 2048, 24, 64}};
}

struct Inputs {
  at::Tensor q, k, v, cotangent;

  Inputs(const AttentionShape& shape, at::ScalarType type) {
    at::manual_seed(17);
    const auto draw = [&] { return at::randn({1, shape.tokens, shape.heads, shape.width}).to(type); };
    q = draw().requires_grad_(true), k = draw().requires_grad_(true), v = draw().requires_grad_(true);
    cotangent = draw();
  }

  Inputs widened() const {
    Inputs copy = *this;
    for (auto* x : {&copy.q, &copy.k, &copy.v}) *x = x->detach().to(at::kFloat).clone().requires_grad_(true);
    copy.cotangent = cotangent.to(at::kFloat);
    return copy;
  }

  std::vector<at::Tensor> attend(const AttentionShape& shape, bool backward) const {
    const ops::Window window = ops::sliding_window({0, shape.tokens}, shape.window);
    if (!backward) {
      at::NoGradGuard no_grad;
      return {ops::window_attention(q, k, v, window)};
    }
    for (const auto* x : {&q, &k, &v}) x->mutable_grad() = at::Tensor();
    const at::Tensor out = ops::window_attention(q, k, v, window);
    out.backward(cotangent);
    return {out.detach(), q.grad(), k.grad(), v.grad()};
  }
};

void measure_attention(Session& session, const AttentionShape& shape, const std::string& precision,
                       bool backward) {
  const Inputs inputs(shape, type_of(precision));
  Trial trial;
  trial.row = {"attention", shape.name(), "", backward ? "forward+backward" : "forward", precision};
  trial.error = [&] {
    std::vector<at::Tensor> expected;
    with_paths(false, [&] { expected = inputs.widened().attend(shape, backward); });
    return largest_error(inputs.attend(shape, backward), expected);
  };
  trial.tolerance = precision == "bf16" ? 0.05 : 1e-4;
  trial.run = [&] { inputs.attend(shape, backward); };
  trial.reference = trial.run;
  std::vector<const char*> forms = {"chunked"};
  if (session.peer_has("scaled_dot_product_attention")) forms.push_back("fused");
  for (const char* theirs : {"bf16", "f32"}) {
    for (const char* form : forms) {
      trial.forms.push_back({theirs,
                             {{"op", "attention"},
                              {"tokens", shape.tokens},
                              {"window", shape.window},
                              {"heads", shape.heads},
                              {"width", shape.width},
                              {"backward", backward},
                              {"form", form}}});
    }
  }
  trial.work = attention_work(shape.tokens, shape.window, shape.heads, shape.width,
                              backward ? Pass::forward_backward : Pass::forward);
  trial.limit = precision == "bf16" ? session.machine().limits.peak() : session.machine().limits.f32;
  trial.memory = backward;
  session.measure(trial);
}

}  // namespace

void bench_attention(Session& session) {
  for (const AttentionShape& shape : attention_shapes(session.quick())) {
    if (!session.wants(shape.name())) continue;
    for (const char* precision : {"bf16", "f32"}) {
      for (const bool backward : {false, true}) measure_attention(session, shape, precision, backward);
    }
  }
}

}  // namespace lact::bench
