// View synthesis: reading a scene, rendering a view of it, and a step of training.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include "lact/bench/areas.h"
#include "lact/bench/nvs_problem.h"
#include "lact/bench/optimizer_step.h"
#include "lact/models/nvs/presets.h"

namespace lact::bench {

namespace {

using models::MixerKind;

struct NvsPlan {
  NvsShape shape;
  int64_t registers;  ///< of the Perceiver
  bool train;
};

std::vector<NvsPlan> nvs_plans(bool quick) {
  if (quick) return {{{"quick", quick_nvs_config(), 2, 2, 16}, 8, true}};
  return {{{"nvs_tiny", models::nvs_tiny(), 8, 4, 64}, 256, true},
          {{"nvs_small", models::nvs_small(), 8, 4, 128}, 512, true},
          {{"nvs_small", models::nvs_small(), 16, 4, 256}, 1024, false}};
}

void add_nvs_forms(Trial& trial, const NvsShape& shape, const char* op) {
  if (shape.config.mixer != MixerKind::lact) return;
  for (const char* precision : {"bf16", "f32"})
    trial.forms.push_back({precision, nvs_peer_request(shape, op)});
}

void measure_reconstruct(Session& session, const NvsShape& shape, const NvsProblem& problem,
                         const std::string& precision) {
  Trial trial = nvs_trial(session, shape, "reconstruct", precision, [&](at::ScalarType type, bool fused) {
    return problem.reconstruct_error(type, fused);
  });
  trial.run = [&] { problem.reconstruct(type_of(precision)); };
  add_nvs_forms(trial, shape, "nvs_reconstruct");
  trial.work = nvs_work(shape, NvsPass::reconstruct);
  trial.memory = true;
  const Result row = session.measure(trial);
  if (row.seconds) session.note(fmt::format("{:.1f} views/s", double(shape.inputs) / *row.seconds));
}

void measure_render(Session& session, const NvsShape& shape, const NvsProblem& problem,
                    const std::string& precision) {
  const auto state = problem.reconstruct(type_of(precision));
  Trial trial = nvs_trial(session, shape, "render", precision, [&](at::ScalarType type, bool fused) {
    return problem.render_error(*state, type, fused);
  });
  trial.run = [&] { problem.render(*state, type_of(precision)); };
  add_nvs_forms(trial, shape, "nvs_render");
  trial.work = nvs_work(shape, NvsPass::render);
  const Result row = session.measure(trial);
  if (row.seconds) session.note(fmt::format("{:.2f} frames/s", 1 / *row.seconds));
}

void measure_nvs_train(Session& session, const NvsShape& shape, const NvsProblem& problem,
                       const OptimizerStep& step, const std::string& precision) {
  Trial trial = nvs_trial(session, shape, "training step", precision, [&](at::ScalarType type, bool fused) {
    return problem.gradient_error(type, fused);
  });
  trial.run = [&] { step([&] { return problem.loss(type_of(precision)); }); };
  add_nvs_forms(trial, shape, "nvs_train");
  trial.work = 3 * nvs_work(shape, NvsPass::forward);
  trial.memory = true;
  session.measure(trial);
}

}  // namespace

void bench_nvs(Session& session) {
  for (const NvsPlan& plan : nvs_plans(session.quick())) {
    for (const auto mixer : {MixerKind::lact, MixerKind::full, MixerKind::perceiver, MixerKind::mamba2}) {
      NvsShape shape = plan.shape;
      shape.config.mixer = mixer;
      if (mixer == MixerKind::perceiver) shape.config.perceiver.registers = plan.registers;
      // All heads together twice as wide as the model, as the paper's 8 of 192 are.
      shape.config.mamba2.head_dim = 2 * shape.config.model_dim / shape.config.mamba2.num_heads;
      const auto wanted = [&](const char* pass) {
        return session.wants(shape.text() + " " + shape.rule() + " " + pass);
      };
      if (!wanted("reconstruct") && !wanted("render") && !(plan.train && wanted("train"))) continue;
      const NvsProblem problem(shape);
      for (const char* precision : {"bf16", "f32"}) {
        if (wanted("reconstruct")) measure_reconstruct(session, shape, problem, precision);
        if (wanted("render")) measure_render(session, shape, problem, precision);
      }
      if (!plan.train || !wanted("train")) continue;
      const OptimizerStep step(problem.model());
      for (const char* precision : {"bf16", "f32"})
        measure_nvs_train(session, shape, problem, step, precision);
    }
  }
}

}  // namespace lact::bench
