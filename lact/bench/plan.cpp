// Whether `lact plan` is right about this machine: memory and time of training steps, predicted and measured.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <memory>

#include "lact/bench/areas.h"
#include "lact/bench/lm_problem.h"
#include "lact/bench/memory.h"
#include "lact/bench/nvs_problem.h"
#include "lact/bench/optimizer_step.h"
#include "lact/bench/video_problem.h"
#include "lact/models/lm/loss.h"
#include "lact/models/nvs/presets.h"
#include "lact/models/plan/prediction.h"
#include "lact/models/plan/stopwatch.h"
#include "lact/models/plan/this_machine.h"
#include "lact/models/video/presets.h"

namespace lact::bench {

namespace {

namespace plan = models::plan;

/// A step that was made ready: model, optimizer and batch live as long as it does.
using Step = std::function<void()>;

struct PlannedShape {
  std::string name;
  models::ModelConfig config;
  plan::Sizes sizes;
  std::function<Step(at::ScalarType)> make;
};

PlannedShape lm_shape(const NamedConfig& named, int64_t tokens) {
  PlannedShape shape = {fmt::format("{} {}", named.name, tokens), named.config, {}, {}};
  shape.sizes.length = tokens;
  shape.make = [named, tokens](at::ScalarType type) -> Step {
    const auto model = make_model(named.config);
    model->set_compute_type(type);
    const at::Tensor ids = random_ids(named.config, tokens + 1);
    return [model, ids, tokens, step = OptimizerStep(*model)] {
      step([&] {
        const at::Tensor hidden = model->hidden(ids.narrow(1, 0, tokens));
        return models::next_token_losses(*model, hidden, ids.narrow(1, 1, tokens)).mean();
      });
    };
  };
  return shape;
}

PlannedShape nvs_shape(const NvsShape& problem) {
  PlannedShape shape = {problem.text(), problem.config, {}, {}};
  shape.sizes.views = problem.inputs, shape.sizes.targets = problem.targets;
  shape.sizes.image_size = problem.size;
  shape.make = [problem](at::ScalarType type) -> Step {
    const auto made = std::make_shared<NvsProblem>(problem);
    return [made, type, step = OptimizerStep(made->model())] { step([&] { return made->loss(type); }); };
  };
  return shape;
}

PlannedShape video_shape(const VideoShape& problem) {
  PlannedShape shape = {problem.train_text(), problem.config, {}, {}};
  shape.sizes.chunks = problem.chunks;
  shape.make = [problem](at::ScalarType type) -> Step {
    const auto made = std::make_shared<VideoProblem>(problem);
    return [made, type, step = OptimizerStep(made->model())] { step([&] { return made->loss(type); }); };
  };
  return shape;
}

std::vector<PlannedShape> planned_shapes(bool quick) {
  if (quick) return {lm_shape(quick_lm(), 64)};
  return {lm_shape(tiny_lm(), 1024),
          lm_shape(tiny_lm(), 4096),
          lm_shape(small_lm(), 1024),
          lm_shape(small_lm(), 4096),
          nvs_shape({"nvs_tiny", models::nvs_tiny(), 8, 4, 64}),
          nvs_shape({"nvs_small", models::nvs_small(), 8, 4, 128}),
          video_shape({"video_tiny", models::video_tiny(), 1, 4}),
          video_shape({"video_small", models::video_small(), 1, 3})};
}

double step_seconds(const Step& step) {
  const plan::Stopwatch watch;
  step();
  return watch.seconds();
}

std::string off_by(const std::string& what, const std::string& predicted, double ratio) {
  return fmt::format("{} predicted {} ({:+.0f}%)", what, predicted, 100 * (ratio - 1));
}

}  // namespace

void bench_plan(Session& session) {
  for (const char* precision : {"f32", "bf16"}) {
    const bool bf16 = type_of(precision) == at::kBFloat16;
    std::optional<plan::Machine> machine;
    for (const PlannedShape& shape : planned_shapes(session.quick())) {
      if (!session.wants(shape.name)) continue;
      if (!machine) machine = plan::this_machine(bf16, 1);
      plan::Sizes sizes = shape.sizes;
      sizes.bf16 = bf16;
      const plan::Prediction prediction = predict(plan::workload(shape.config, sizes), *machine, {});
      Result row = {"plan", shape.name, "", "training step", precision};
      Step step;
      const auto memory = extra_peak_bytes([&] {
        step = shape.make(type_of(precision));
        step(), step();
      });
      const Times times =
          race({{"ours", [&] { return step_seconds(step); }, ""}}, session.options().race).front();
      row.seconds = times.best, row.median_seconds = times.median;
      std::vector<std::string> notes;
      if (times.best)
        notes.push_back(
            off_by("time", fmt::format("{:.4g} s", prediction.seconds), prediction.seconds / *times.best));
      if (memory) {
        row.extra_memory_mb = double(*memory) / 1e6;
        notes.push_back(off_by("memory", fmt::format("{:.0f} MB", prediction.memory.peak() / 1e6),
                               prediction.memory.peak() / double(*memory)));
      }
      row.note = fmt::format("{}", fmt::join(notes, ", "));
      session.add(row);
    }
  }
}

}  // namespace lact::bench
