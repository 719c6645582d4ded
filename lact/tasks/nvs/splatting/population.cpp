#include "lact/tasks/nvs/splatting/population.h"

#include <ATen/ATen.h>

#include <cmath>

#include "lact/base/error.h"
#include "lact/kernels/adamw.h"
#include "lact/ops/dispatch/work_items.h"

namespace lact::tasks::nvs {

namespace {

constexpr int64_t kRowsAtOnce = 4096;

/// A field [N, ...] whose rows begin with `first` numbers of one rate, and go on with others of another.
struct RowRates {
  int64_t first;
  double rate, rest;
};

void adam(at::Tensor& parameter, const at::Tensor& gradient, at::Tensor& mean, at::Tensor& square,
          kernels::AdamWStep step, const RowRates& rates) {
  const int64_t rows = parameter.size(0), width = rows > 0 ? parameter.numel() / rows : 0;
  float *const value = parameter.data_ptr<float>(), *const m = mean.data_ptr<float>(),
               *const s = square.data_ptr<float>();
  const float* const g = gradient.data_ptr<float>();
  const auto run = kernels::adamw_kernels().step;
  const auto part = [&](int64_t begin, int64_t count, double rate) {
    kernels::AdamWStep own = step;
    own.rate *= float(rate);
    run(own, value + begin, g + begin, m + begin, s + begin, count);
  };
  ops::for_each_item((rows + kRowsAtOnce - 1) / kRowsAtOnce, [&](int64_t item, int64_t) {
    const int64_t begin = item * kRowsAtOnce, end = std::min(rows, begin + kRowsAtOnce);
    if (rates.first == width) return part(begin * width, (end - begin) * width, rates.rate);
    for (int64_t row = begin; row < end; ++row) {
      part(row * width, rates.first, rates.rate);
      part(row * width + rates.first, width - rates.first, rates.rest);
    }
  });
}

}  // namespace

Population::Population(const ops::Gaussians& initial) : gaussians_(initial) {
  for (size_t i = 0; i < mean_.size(); ++i) {
    mean_[i] = at::zeros_like(*gaussians_.fields()[i]);
    square_[i] = at::zeros_like(*gaussians_.fields()[i]);
  }
  make_leaves();
}

void Population::make_leaves() {
  for (at::Tensor* field : gaussians_.fields())
    *field = field->detach().to(at::kFloat).contiguous().requires_grad_();
}

void Population::set(const ops::Gaussians& changed) {
  LACT_ASSERT(changed.size() == size());
  gaussians_ = changed;
  make_leaves();
}

void Population::append(const ops::Gaussians& others) {
  for (size_t i = 0; i < mean_.size(); ++i) {
    at::Tensor& field = *gaussians_.fields()[i];
    const at::Tensor added = others.fields()[i]->detach().to(at::kFloat);
    field = at::cat({field.detach(), added});
    mean_[i] = at::cat({mean_[i], at::zeros_like(added)});
    square_[i] = at::cat({square_[i], at::zeros_like(added)});
  }
  make_leaves();
}

void Population::keep(const at::Tensor& numbers) {
  for (size_t i = 0; i < mean_.size(); ++i) {
    at::Tensor& field = *gaussians_.fields()[i];
    field = field.detach().index_select(0, numbers);
    mean_[i] = mean_[i].index_select(0, numbers);
    square_[i] = square_[i].index_select(0, numbers);
  }
  make_leaves();
}

void Population::forget(const at::Tensor& numbers) {
  for (auto* moments : {&mean_, &square_})
    for (at::Tensor& moment : *moments) moment.index_fill_(0, numbers, 0);
}

void Population::forget_field(size_t field) {
  mean_[field].zero_();
  square_[field].zero_();
}

void Population::step(const SplatRates& rates, double position_rate) {
  at::NoGradGuard no_grad;
  ++steps_;
  const double mean_left = 1 - std::pow(rates.beta1, double(steps_));
  const double square_left = 1 - std::pow(rates.beta2, double(steps_));
  const kernels::AdamWStep step = {
      1, float(1 - rates.beta1), float(rates.beta2),  float(1 - rates.beta2), float(1 / square_left),
      1, float(1 / mean_left),   float(rates.epsilon)};
  const std::array<RowRates, 5> of_field = {{{3, position_rate, 0},
                                             {4, rates.rotation, 0},
                                             {3, rates.scale, 0},
                                             {1, rates.opacity, 0},
                                             {3, rates.colour, rates.harmonics}}};
  for (size_t i = 0; i < mean_.size(); ++i) {
    at::Tensor& field = *gaussians_.fields()[i];
    at::Tensor& gradient = field.mutable_grad();
    if (!gradient.defined()) continue;
    adam(field, gradient.contiguous(), mean_[i], square_[i], step, of_field[i]);
    gradient.reset();
  }
}

void Population::save(std::map<std::string, at::Tensor>& tensors) const {
  for (size_t i = 0; i < mean_.size(); ++i) {
    const std::string name = std::string("gaussians.") + ops::kGaussianFields[i];
    tensors[name] = gaussians_.fields()[i]->detach();
    tensors[name + ".mean"] = mean_[i];
    tensors[name + ".square"] = square_[i];
  }
  tensors["gaussians.steps"] = at::tensor({steps_}, at::kLong);
}

Population Population::load(const std::map<std::string, at::Tensor>& tensors, const std::string& file) {
  const auto find = [&](const std::string& name, at::ScalarType type) {
    const auto found = tensors.find(name);
    LACT_CHECK(found != tensors.end(), "{}: has no tensor {}", file, name);
    LACT_CHECK(found->second.scalar_type() == type, "{}: {} is {}, expected {}", file, name,
               toString(found->second.scalar_type()), toString(type));
    return found->second;
  };
  ops::Gaussians gaussians;
  const auto name = [](size_t i) { return std::string("gaussians.") + ops::kGaussianFields[i]; };
  for (size_t i = 0; i < gaussians.fields().size(); ++i)
    *gaussians.fields()[i] = find(name(i), at::kFloat).clone();
  try {
    ops::check_gaussians(gaussians);
  } catch (const Error& error) {
    fail("{}: {}", file, error.what());
  }
  Population population(gaussians);
  for (size_t i = 0; i < gaussians.fields().size(); ++i) {
    for (const auto& [ending, moment] :
         {std::pair(".mean", &population.mean_[i]), std::pair(".square", &population.square_[i])}) {
      const at::Tensor stored = find(name(i) + ending, at::kFloat);
      LACT_CHECK(stored.sizes() == moment->sizes(), "{}: {}{} has shape {}, expected {}", file, name(i),
                 ending, stored.sizes().vec(), moment->sizes().vec());
      moment->copy_(stored);
    }
  }
  const at::Tensor steps = find("gaussians.steps", at::kLong);
  LACT_CHECK(steps.numel() == 1 && steps.item<int64_t>() >= 0, "{}: gaussians.steps is not a number", file);
  population.steps_ = steps.item<int64_t>();
  return population;
}

}  // namespace lact::tasks::nvs
