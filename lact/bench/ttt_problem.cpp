#include "lact/bench/ttt_problem.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>

#include "lact/bench/session.h"
#include "lact/ops/norms/norms.h"

namespace lact::bench {

namespace {

/// Heads do not know of each other; so many are compared with the reference, which is slow.
constexpr int64_t kCheckedHeads = 2;

at::Tensor leaf(const at::Tensor& x) { return x.detach().contiguous().requires_grad_(true); }

}  // namespace

std::string TttShape::name() const {
  return fmt::format("{}x{}{} {}x{}", heads, tokens, chunk < tokens ? fmt::format("/{}", chunk) : "", width,
                     hidden);
}

std::string TttShape::rule() const {
  if (original_ttt()) return network;
  const std::string steps = momentum ? (muon ? "momentum+muon" : "momentum") : (muon ? "muon" : "gd");
  return network == "swiglu" ? steps : network + " " + steps;
}

int64_t TttShape::state() const {
  int64_t numbers = 0;
  for (const auto& matrix : fast_weights().matrices(width, hidden, width)) numbers += matrix.out * matrix.in;
  return heads * numbers;
}

options::Json TttShape::sizes() const {
  return {{"heads", heads}, {"tokens", tokens}, {"chunk", chunk},
          {"width", width}, {"hidden", hidden}, {"state", state()}};
}

TttProblem::TttProblem(const TttShape& shape, at::ScalarType type) : shape_(shape) {
  at::manual_seed(17);
  update_.momentum = shape.momentum;
  update_.muon = shape.muon;
  update_.newton_schulz.steps = shape.newton_schulz_steps;
  if (shape.original_ttt()) update_.norm_placement = ttt::NormPlacement::none;
  const auto tokens = [&](int64_t channels) { return at::randn({1, shape.heads, shape.tokens, channels}); };
  inputs_.q = leaf(ops::l2_normalize(tokens(shape.width), 1e-5).to(type));
  inputs_.k = leaf(ops::l2_normalize(tokens(shape.width), 1e-5).to(type));
  inputs_.v = leaf(tokens(shape.width).to(type));
  for (const auto& matrix : shape.fast_weights().matrices(shape.width, shape.hidden, shape.width)) {
    const std::vector<int64_t> sizes = {1, shape.heads, matrix.out, matrix.in};
    weights_.push_back(leaf(matrix.initial ? at::full(sizes, *matrix.initial)
                                           : at::randn(sizes) / std::sqrt(double(matrix.in))));
    inputs_.rates.push_back(matrix.fixed ? at::Tensor() : leaf(tokens(1).abs() * 0.01));
  }
  if (shape.momentum) inputs_.beta = leaf(at::sigmoid(tokens(1)));
  cotangent_ = tokens(shape.width).to(type);
}

TttProblem::TttProblem(const TttProblem& other, int64_t heads, int64_t tokens, at::ScalarType type)
    : shape_(other.shape_), update_(other.update_) {
  shape_.heads = heads;
  shape_.tokens = tokens;
  const auto of_heads = [&](const at::Tensor& x) { return x.detach().narrow(1, 0, heads).clone(); };
  const auto of_tokens = [&](const at::Tensor& x) { return of_heads(x).narrow(2, 0, tokens); };
  inputs_.q = leaf(of_tokens(other.inputs_.q).to(type));
  inputs_.k = leaf(of_tokens(other.inputs_.k).to(type));
  inputs_.v = leaf(of_tokens(other.inputs_.v).to(type));
  for (const auto& weight : other.weights_) weights_.push_back(leaf(of_heads(weight)));
  for (const auto& rate : other.inputs_.rates) {
    inputs_.rates.push_back(rate.defined() ? leaf(of_tokens(rate)) : rate);
  }
  if (other.inputs_.beta.defined()) inputs_.beta = leaf(of_tokens(other.inputs_.beta));
  cotangent_ = of_tokens(other.cotangent_).to(type).contiguous();
}

at::Tensor TttProblem::scan(bool recompute) const {
  const ttt::FastWeightRule rule = {shape_.fast_weights(),
                                    ttt::loss(shape_.original_ttt() ? "squared_error" : "dot_product"),
                                    update_, recompute};
  ttt::Memory memory = ttt::start_memory(rule, weights_);
  return ttt::scan(rule, ttt::block_causal_schedule(shape_.tokens, shape_.chunk), inputs_, memory);
}

std::vector<at::Tensor> TttProblem::leaves() const {
  std::vector<at::Tensor> all = {inputs_.q, inputs_.k, inputs_.v};
  all.insert(all.end(), weights_.begin(), weights_.end());
  for (const auto& rate : inputs_.rates) {
    if (rate.defined()) all.push_back(rate);
  }
  if (inputs_.beta.defined()) all.push_back(inputs_.beta);
  return all;
}

at::Tensor TttProblem::forward() const {
  at::NoGradGuard no_grad;
  return scan(false);
}

std::vector<at::Tensor> TttProblem::forward_backward(bool recompute) const {
  auto inputs = leaves();
  for (auto& input : inputs) input.mutable_grad() = at::Tensor();
  const at::Tensor out = scan(recompute);
  out.backward(cotangent_);
  std::vector<at::Tensor> results = {out.detach()};
  for (auto& input : inputs) {
    results.push_back(input.grad());
    input.mutable_grad() = at::Tensor();
  }
  return results;
}

TttCheck::TttCheck(const TttProblem& problem, const TttShape& shape) : problem_(problem), shape_(shape) {
  shape_.heads = std::min(shape.heads, kCheckedHeads);
}

const std::vector<at::Tensor>& TttCheck::expected() {
  if (expected_.empty()) {
    const TttProblem precise(problem_, shape_.heads, shape_.tokens, at::kFloat);
    with_paths(false, [&] { expected_ = precise.forward_backward(false); });
  }
  return expected_;
}

double TttCheck::compare(const TttProblem& problem, bool backward, bool recompute, bool fused) {
  std::vector<at::Tensor> found;
  with_paths(fused, [&] {
    found = backward ? problem.forward_backward(recompute) : std::vector<at::Tensor>{problem.forward()};
  });
  double worst = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    worst = std::max(worst, norm_error({found[i].narrow(1, 0, shape_.heads)}, {expected()[i]}));
  }
  return worst;
}

double TttCheck::error(bool backward, bool recompute, bool fused) {
  return compare(problem_, backward, recompute, fused);
}

double TttCheck::error_in_float32(bool backward, bool recompute) {
  return compare(TttProblem(problem_, shape_.heads, shape_.tokens, at::kFloat), backward, recompute, true);
}

double TttCheck::error_of_first_chunk(bool backward, bool recompute) {
  TttShape first = shape_;
  first.tokens = std::min(shape_.tokens, shape_.chunk);
  const TttProblem problem(problem_, first.heads, first.tokens, at::kBFloat16);
  return TttCheck(problem, first).error(backward, recompute);
}

std::optional<GrowingRounding> ttt_rounding(TttCheck& check, const TttShape& shape, at::ScalarType type,
                                            bool backward, bool recompute) {
  if (type != at::kBFloat16 || !shape.muon) return std::nullopt;
  GrowingRounding rounding;
  rounding.reference_error = [&check, backward, recompute] {
    return check.error(backward, recompute, false);
  };
  rounding.checks.push_back(
      {"in float32", [&check, backward, recompute] { return check.error_in_float32(backward, recompute); },
       ttt_tolerance(shape, at::kFloat)});
  if (shape.chunk < shape.tokens && gives_full_rank(shape.chunk, std::max(shape.width, shape.hidden))) {
    rounding.checks.push_back(
        {"of the first chunk",
         [&check, backward, recompute] { return check.error_of_first_chunk(backward, recompute); },
         ttt_tolerance(shape, type)});
  }
  return rounding;
}

double ttt_tolerance(const TttShape& shape, at::ScalarType type) {
  if (type == at::kBFloat16) return shape.muon ? 0.15 : 0.05;
  return shape.muon ? 1e-2 : 1e-3;
}

}  // namespace lact::bench
