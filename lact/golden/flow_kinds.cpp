// Golden cases of flow matching: noise levels, loss weights, teacher-forcing sequences and the UniPC solver.
#include <ATen/ATen.h>

#include "lact/golden/kinds.h"
#include "lact/models/video/euler.h"
#include "lact/models/video/flow.h"
#include "lact/models/video/loss.h"
#include "lact/models/video/sigma_table.h"
#include "lact/models/video/unipc.h"

namespace lact::golden {

namespace {

struct SchedulerCase {
  double shift = 0, sigma_max = 0, sigma_min = 0;
  int64_t num_inference_steps = 0;
  bool extra_one_step = false;
  template <class Visitor>
  void visit(Visitor&& field) {
    field("shift", shift, "");
    field("num_inference_steps", num_inference_steps, "");
    field("extra_one_step", extra_one_step, "");
    field("sigma_max", sigma_max, "");
    field("sigma_min", sigma_min, "");
  }
};

struct ShiftCase {
  std::vector<double> shifts;
  template <class Visitor>
  void visit(Visitor&& field) {
    field("shifts", shifts, "");
  }
};

struct SequenceCase {
  int64_t ar_window_size = 0, num_repeat = 0;
  double timestep_shift = 0;
  template <class Visitor>
  void visit(Visitor&& field) {
    field("ar_window_size", ar_window_size, "");
    field("num_repeat", num_repeat, "");
    field("timestep_shift", timestep_shift, "");
  }
};

struct UniPcCase {
  double shift = 0;
  int64_t steps = 0;
  template <class Visitor>
  void visit(Visitor&& field) {
    field("shift", shift, "");
    field("steps", steps, "");
  }
};

/// [repeats, chunks, frames, channels, rows, columns] -> copies [1, repeats, channels, frames, rows, columns]
at::Tensor copies_of_windows(const at::Tensor& windows) {
  return windows.permute({0, 3, 1, 2, 4, 5}).flatten(2, 3).unsqueeze(0);
}

at::Tensor windows_of_copies(const at::Tensor& copies, int64_t frames) {
  return copies.squeeze(0).unflatten(2, {-1, frames}).permute({0, 2, 3, 1, 4, 5});
}

/// [1, channels, parts × frames, rows, columns] <-> [parts, frames, channels, rows, columns]
at::Tensor windows_of_sequence(const at::Tensor& sequence, int64_t frames) {
  return sequence.squeeze(0).unflatten(1, {-1, frames}).permute({1, 2, 0, 3, 4});
}
at::Tensor sequence_of_windows(const at::Tensor& windows) {
  return windows.permute({2, 0, 1, 3, 4}).flatten(1, 2).unsqueeze(0);
}

/// The velocity of data that are normal in each element, evaluated in float64.
at::Tensor normal_velocity(const at::Tensor& sample, double sigma, const at::Tensor& mean,
                           const at::Tensor& variance) {
  const at::Tensor spread = (1 - sigma) * (1 - sigma) * variance + sigma * sigma;
  const at::Tensor offset = (sample.to(at::kDouble) - (1 - sigma) * mean) / spread;
  return (sigma * offset - mean - (1 - sigma) * variance * offset).to(sample.scalar_type());
}

}  // namespace

void run_flow_scheduler(Run& run) {
  SchedulerCase options;
  options::read(run.options(), options, "options");
  const models::SigmaTable table({.steps = options.num_inference_steps,
                                  .shift = options.shift,
                                  .first = options.sigma_max,
                                  .last = options.sigma_min,
                                  .leave_out_last = options.extra_one_step});
  const at::Tensor clean = run.input("x0"), noise = run.input("noise");
  const at::Tensor rows = table.nearest(run.input("t"));
  const auto per_sample = [&](const at::Tensor& numbers) {
    return numbers.to(clean.scalar_type()).reshape({-1, 1, 1, 1});
  };
  const at::Tensor sigma = per_sample(table.sigma(rows));
  // The published step sends a whole batch to 0 as soon as one of its samples is at the last level.
  const bool ends = (rows == options.num_inference_steps - 1).any().item<bool>();
  const at::Tensor next = per_sample(ends ? at::zeros_like(rows).to(at::kDouble) : table.sigma(rows + 1));
  const at::Tensor noisy = models::add_noise(clean, noise, sigma);
  const at::Tensor target = models::velocity_target(clean, noise);
  run.expect("sigmas", table.sigmas());
  run.expect("timesteps", table.timesteps());
  run.expect("training_weights", table.bell_weights());
  run.expect_part("weight_of_t0", table.bell_weights().index_select(0, rows.narrow(0, 0, 1)),
                  "training_weights");
  run.expect("noisy", noisy);
  run.expect("target", target);
  run.expect("stepped", models::euler_step(noisy, target, sigma, next));
}

void run_flow_shift_and_weight(Run& run) {
  ShiftCase options;
  options::read(run.options(), options, "options");
  for (size_t i = 0; i < options.shifts.size(); ++i)
    run.expect("t_shift_" + std::to_string(i), models::shift_time(run.input("u"), options.shifts[i]));
  const at::Tensor timesteps = run.input("t_train");
  run.expect("weight_mu_0", models::logit_normal_weight(timesteps, 0, 1));
  run.expect("weight_mu_0.5", models::logit_normal_weight(timesteps, 0.5, 1));
  run.expect("weight_mu_0_sigma_0.7", models::logit_normal_weight(timesteps, 0, 0.7));
}

void run_flow_ar_sequence(Run& run) {
  SequenceCase options;
  options::read(run.options(), options, "options");
  const int64_t frames = options.ar_window_size;
  const at::Tensor clean = run.input("latent").transpose(1, 2), noise = copies_of_windows(run.input("noise"));
  LACT_CHECK(noise.size(1) == options.num_repeat, "noise of {} copies, expected {}", noise.size(1),
             options.num_repeat);
  const at::Tensor times = run.input("u_t").unsqueeze(0);
  const auto batch =
      models::teacher_forcing(clean, noise, times, {.shift = options.timestep_shift, .weight_mean = 0});
  const at::Tensor answer = sequence_of_windows(run.input("pred"));
  run.expect("t",
             (models::kTrainingTimesteps * models::shift_time(times, options.timestep_shift)).squeeze(0));
  run.expect("noisy", windows_of_copies(batch.noisy, frames));
  run.expect("ar_input", windows_of_sequence(batch.latents, frames));
  run.expect("ar_t", batch.timesteps.squeeze(0));
  run.expect("weight", batch.weight.squeeze(0));
  run.expect("extracted",
             windows_of_copies(models::extract_noisy(answer, times.size(2), options.num_repeat), frames));
  run.expect("loss", models::weighted_velocity_loss(answer, batch).reshape({1}));
}

void run_unipc(Run& run) {
  UniPcCase options;
  options::read(run.options(), options, "options");
  models::UniPcSolver solver(models::unipc_sigmas(options.steps, options.shift));
  const at::Tensor mean = run.input("mean").to(at::kDouble), variance = run.input("var").to(at::kDouble);
  std::vector<at::Tensor> samples = {run.input("samples").narrow(0, 0, 1)}, velocities, clean;
  std::vector<int64_t> timesteps, orders;
  while (!solver.done()) {
    timesteps.push_back(int64_t(solver.timestep()));
    velocities.push_back(
        normal_velocity(samples.back(), solver.timestep() / models::kTrainingTimesteps, mean, variance));
    samples.push_back(solver.step(velocities.back(), samples.back()));
    clean.push_back(solver.clean_prediction());
    orders.push_back(solver.order());
  }
  run.expect("sigmas", at::tensor(solver.sigmas(), at::kDouble));
  run.expect("timesteps", at::tensor(timesteps, at::kLong));
  run.expect("orders", at::tensor(orders, at::kLong));
  run.expect("velocities", at::cat(velocities));
  run.expect("x0_predictions", at::cat(clean));
  run.expect("samples", at::cat(samples));
}

}  // namespace lact::golden
