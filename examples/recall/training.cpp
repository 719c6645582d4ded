#include "recall/training.h"

#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adamw.h>
#include <torch/utils.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "lact/nn/init.h"

namespace recall {

namespace {

/// Rises for the first steps, then falls along a cosine to 5%.
double rate_factor(int64_t step, int64_t steps) {
  constexpr int64_t kWarmup = 20;
  const double rise = double(step + 1) / kWarmup;
  const double fall = 0.5 * (1 + std::cos(std::numbers::pi * double(step) / double(steps)));
  return std::min(rise, std::max(fall, 0.05));
}

Recall measure(const Model& model, const Task& task, int64_t batch_size) {
  constexpr int64_t kSequences = 256;
  const torch::NoGradGuard no_grad;
  at::Tensor asked = at::zeros({task.tokens}, at::kLong), right = at::zeros({task.tokens}, at::kLong);
  for (int64_t done = 0; done < kSequences; done += batch_size) {
    const Batch batch = draw_batch(task, batch_size);
    const at::Tensor correct = model.forward(batch).argmax(-1).eq(batch.answer).to(at::kLong).flatten();
    const at::Tensor distance = batch.distance.flatten();
    asked.index_add_(0, distance, at::ones_like(distance));
    right.index_add_(0, distance, correct);
  }
  const auto to_list = [](const at::Tensor& counts) {
    const auto* data = counts.data_ptr<int64_t>();
    return std::vector<int64_t>(data, data + counts.numel());
  };
  return {to_list(asked), to_list(right)};
}

}  // namespace

double Recall::accuracy(int64_t begin, int64_t end) const {
  const auto sum = [&](const std::vector<int64_t>& counts) {
    return double(std::accumulate(counts.begin() + begin, counts.begin() + end, int64_t(0)));
  };
  return sum(asked) > 0 ? sum(right) / sum(asked) : std::numeric_limits<double>::quiet_NaN();
}

Outcome train(const Contender& contender, const Task& task, const Shape& shape,
              const TrainingOptions& options, const Progress& progress) {
  const auto start = std::chrono::steady_clock::now();
  torch::manual_seed(options.seed);
  const auto model = std::make_shared<Model>(task, shape, contender.memory);
  lact::nn::init_linears(*model, 0.05);
  Outcome outcome{contender, model->num_parameters(), {}, {}, 0};

  const auto parameters = model->parameters();
  torch::optim::AdamW optimizer(parameters,
                                torch::optim::AdamWOptions(options.rate).betas({0.9, 0.95}).weight_decay(0));
  torch::manual_seed(options.seed + 1);
  for (int64_t step = 0; step < options.steps; ++step) {
    for (auto& group : optimizer.param_groups()) {
      group.options().set_lr(options.rate * rate_factor(step, options.steps));
    }
    const Batch batch = draw_batch(task, options.batch);
    const at::Tensor loss =
        at::cross_entropy_loss(model->forward(batch).flatten(0, 1), batch.answer.flatten());
    optimizer.zero_grad();
    loss.backward();
    torch::nn::utils::clip_grad_norm_(parameters, 1.0);
    optimizer.step();
    outcome.losses.push_back(loss.item<double>());
    progress(step + 1, outcome.losses.back());
  }

  torch::manual_seed(options.seed + 2);
  outcome.recall = measure(*model, task, options.batch);
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

}  // namespace recall
