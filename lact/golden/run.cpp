#include "lact/golden/run.h"

#include <ATen/ATen.h>

#include <cmath>

#include "lact/ops/dispatch/dtypes.h"

namespace lact::golden {

namespace {

const std::string kParameter = "param.";
const std::string kGradient = "grad.";

double largest(const at::Tensor& x) { return x.numel() == 0 ? 0 : x.abs().max().item<double>(); }

/// max|result - expected| / max|expected|; against an all-zero tensor the absolute error counts.
double relative_error(const at::Tensor& result, const at::Tensor& expected) {
  const at::Tensor wide = expected.to(at::kDouble);
  const double error = largest(result.detach().to(at::kDouble) - wide);
  const double scale = largest(wide);
  if (!std::isfinite(error)) return std::numeric_limits<double>::infinity();
  return scale > 0 ? error / scale : error;
}

/// |result - expected|_2 / |expected|_2
double relative_distance(const at::Tensor& result, const at::Tensor& expected) {
  const at::Tensor wide = expected.to(at::kDouble);
  const double error = (result.detach().to(at::kDouble) - wide).norm().item<double>();
  const double scale = wide.norm().item<double>();
  if (!std::isfinite(error)) return std::numeric_limits<double>::infinity();
  return scale > 0 ? error / scale : error;
}

const char* precision_name(at::ScalarType type) {
  return type == at::kDouble ? "float64" : type == at::kFloat ? "float32" : "bfloat16";
}

}  // namespace

Run::Run(const Case& source, at::ScalarType precision, double bound)
    : case_(source), precision_(precision), bound_(bound) {
  LACT_ASSERT((precision == at::kBFloat16) == (bound > 0));
  report_.name = source.name;
  report_.kind = source.kind;
  report_.precision = precision_name(precision);
}

options::Json Run::options() const {
  const auto found = case_.description.find("options");
  LACT_CHECK(found != case_.description.end() && found->is_object(), "the case has no \"options\"");
  return *found;
}

const at::Tensor& Run::stored(const std::string& name) {
  const auto found = case_.tensors.find(name);
  LACT_CHECK(found != case_.tensors.end(), "the case holds no tensor {}", name);
  seen_.insert(name);
  return found->second;
}

at::Tensor Run::input(const std::string& name) {
  if (const auto known = leaves_.find(name); known != leaves_.end()) return known->second;
  at::Tensor tensor = stored(name);
  if (!tensor.is_floating_point()) return tensor;
  tensor = tensor.to(ops::wide_type(precision_), /*non_blocking=*/false, /*copy=*/true);
  if (has(kGradient + name)) tensor.requires_grad_(true);
  leaves_[name] = tensor;
  return tensor;
}

void Run::load(torch::nn::Module& module, const models::ForeignNames& names) {
  std::map<std::string, at::Tensor> tensors;
  for (const auto& [name, tensor] : case_.tensors) {
    if (!name.starts_with(kParameter)) continue;
    tensors[name.substr(kParameter.size())] = tensor;
    seen_.insert(name);
  }
  use(module, names);
  models::load_foreign(module, names, tensors, "the case");
}

void Run::use(torch::nn::Module& module, const models::ForeignNames& names) {
  module.to(precision_);
  module_ = &module;
  names_ = names;
}

std::string Run::folder() const { return std::filesystem::path(case_.file).parent_path().string(); }

void Run::compare(Worst& group, const std::string& name, const at::Tensor& result) {
  const at::Tensor& expected = stored(name);
  LACT_CHECK(result.sizes() == expected.sizes(), "{} has shape {}, expected {}", name, result.sizes().vec(),
             expected.sizes().vec());
  if (bound_ == 0) return compare(group, name, relative_error(result, expected), case_.tolerance(name));
  if (!case_.ill_conditioned(name)) compare(group, name, relative_distance(result, expected), bound_);
}

void Run::compare(Worst& group, const std::string& name, double error, double tolerance) {
  group.checked = true;
  group.error = std::max(group.error, error);
  const double share = error / tolerance;
  if (share >= report_.worst_share) {
    report_.worst_share = share;
    report_.worst_tensor = name;
    report_.tolerance = tolerance;
  }
  if (!(error <= tolerance) && report_.failure.empty()) {
    report_.failure = fmt::format("{} is off by {:.1e}, allowed {:.1e}", name, error, tolerance);
  }
}

void Run::expect(const std::string& name, const at::Tensor& result) {
  compare(name.ends_with("_final") ? report_.state : report_.outputs, name, result);
}

void Run::expect_part(const std::string& name, const at::Tensor& result, const std::string& whole) {
  const at::Tensor& expected = stored(name);
  LACT_CHECK(result.sizes() == expected.sizes(), "{} has shape {}, expected {}", name, result.sizes().vec(),
             expected.sizes().vec());
  const double scale = largest(stored(whole));
  compare(report_.outputs, name, largest(result.to(at::kDouble) - expected.to(at::kDouble)) / scale,
          case_.tolerance(whole));
}

void Run::compare_loss(const at::Tensor& terms, const std::string& output) {
  if (!has("loss")) return;
  // The terms of the sum cancel, so the error is measured against their size and not against the small
  // result.
  const double error = std::abs(terms.detach().sum().item<double>() - stored("loss").item<double>());
  compare(report_.outputs, "loss", error / std::max(1e-30, terms.detach().abs().sum().item<double>()),
          bound_ > 0 ? bound_ : case_.tolerance(output));
}

void Run::expect_loss_and_gradients(const at::Tensor& output) {
  if (!has("r")) return;
  const auto type = ops::wide_type(precision_);
  const at::Tensor terms = output.to(type) * stored("r").to(type);
  compare_loss(terms, "output");
  expect_gradients_of(terms.sum());
}

void Run::expect_loss_and_gradients(const std::map<std::string, at::Tensor>& outputs) {
  const auto type = ops::wide_type(precision_);
  std::vector<at::Tensor> terms;
  for (const auto& [name, output] : outputs)
    terms.push_back((output.to(type) * stored("r." + name).to(type)).flatten());
  compare_loss(at::cat(terms), "output." + outputs.begin()->first);
  expect_gradients_of(at::cat(terms).sum());
}

void Run::expect_gradients_of(const at::Tensor& loss) {
  loss.backward();
  const auto expect_gradient = [&](const std::string& name, const at::Tensor& gradient,
                                   const at::Tensor& like) {
    if (!has(kGradient + name)) return;
    compare(report_.gradients, kGradient + name, gradient.defined() ? gradient : at::zeros_like(like));
  };
  for (const auto& [name, leaf] : leaves_) expect_gradient(name, leaf.grad(), leaf);
  if (module_ == nullptr) return;
  const auto parameters = module_->named_parameters();
  for (const auto& [foreign, ours, view] : names_.tensors()) {
    const at::Tensor& parameter = parameters[ours];
    const at::Tensor gradient = parameter.grad().defined() ? view(parameter.grad()) : at::Tensor();
    expect_gradient(kParameter + foreign, gradient, view(parameter));
  }
}

Report Run::finish() {
  for (const auto& [name, tensor] : case_.tensors) {
    if (seen_.count(name) == 0 && report_.failure.empty()) {
      report_.failure = fmt::format("tensor {} was neither used nor compared", name);
    }
  }
  return report_;
}

}  // namespace lact::golden
