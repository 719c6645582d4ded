// Video: denoising a chunk (one evaluation of the model), writing a clean one, and a step of training.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include "lact/bench/areas.h"
#include "lact/bench/optimizer_step.h"
#include "lact/bench/video_problem.h"
#include "lact/models/video/presets.h"

namespace lact::bench {

namespace {

using models::MixerKind;

models::VideoConfig quick_video() {
  models::VideoConfig config = models::video_tiny();
  config.model_dim = 32;
  config.num_layers = 2;
  config.layer = models::video_layer(2, 1);
  config.cross_attention.num_heads = 2;
  config.feed_forward.hidden_dim = 64;
  config.latent_height = config.latent_width = 16;
  return config;
}

std::vector<VideoShape> video_shapes(bool quick) {
  if (quick) return {{"quick", quick_video(), 1, 2}};
  return {{"video_tiny", models::video_tiny(), 8, 4}, {"video_small", models::video_small(), 4, 3}};
}

double video_tolerance(at::ScalarType type) { return type == at::kBFloat16 ? 0.15 : 1e-2; }

Trial video_trial(Session& session, const VideoShape& shape, const std::string& pass,
                  const std::string& precision, const std::function<double(at::ScalarType, bool)>& error) {
  const bool training = pass == "training step";
  Trial trial;
  trial.row = {"video", training ? shape.train_text() : shape.text(), shape.config.mixer.text(), pass,
               precision};
  trial.error = [=] { return error(type_of(precision), true); };
  trial.tolerance = video_tolerance(type_of(precision));
  trial.limit = precision == "bf16" ? session.machine().limits.peak() : session.machine().limits.f32;
  return trial;
}

void measure_denoise(Session& session, const VideoShape& shape, const VideoProblem& problem,
                     const std::string& precision) {
  const auto state = problem.begin(type_of(precision));
  Trial trial = video_trial(session, shape, "denoise", precision, [&](at::ScalarType type, bool fused) {
    return problem.denoise_error(*state, type, fused);
  });
  trial.run = [&] { problem.denoise(*state, type_of(precision)); };
  trial.work = denoise_work(shape.config, shape.before);
  const Result row = session.measure(trial);
  if (row.seconds)
    session.note(
        fmt::format("{:.1f} latent frames/s and step", double(shape.config.chunk_frames) / *row.seconds));
}

void measure_write(Session& session, const VideoShape& shape, const VideoProblem& problem,
                   const std::string& precision) {
  const auto state = problem.begin(type_of(precision));
  Trial trial = video_trial(session, shape, "write", precision, [&](at::ScalarType type, bool fused) {
    return problem.write_error(*state, type, fused);
  });
  trial.run = [&] { problem.write(*state, type_of(precision)); };
  trial.work = write_work(shape.config, shape.before);
  session.measure(trial);
}

void measure_video_train(Session& session, const VideoShape& shape, const VideoProblem& problem,
                         const OptimizerStep& step, const std::string& precision) {
  Trial trial = video_trial(session, shape, "training step", precision, [&](at::ScalarType type, bool fused) {
    return problem.gradient_error(type, fused);
  });
  trial.run = [&] { step([&] { return problem.loss(type_of(precision)); }); };
  trial.work = 3 * clip_work(shape.config, shape.chunks);
  trial.memory = true;
  session.measure(trial);
}

}  // namespace

void bench_video(Session& session) {
  for (const VideoShape& preset : video_shapes(session.quick())) {
    for (const auto mixer : {MixerKind::lact, MixerKind::window, MixerKind::full, MixerKind::mamba2}) {
      VideoShape shape = preset;
      shape.config.mixer = mixer;
      shape.config.layer.mamba2.num_heads = std::max<int64_t>(1, shape.config.model_dim / 128);
      const auto wanted = [&](const char* pass) {
        return session.wants(fmt::format("{} {} {}", shape.text(), shape.config.mixer.text(), pass));
      };
      if (!wanted("denoise") && !wanted("write") && !wanted("train")) continue;
      const VideoProblem problem(shape);
      for (const char* precision : {"bf16", "f32"}) {
        if (wanted("denoise")) measure_denoise(session, shape, problem, precision);
        if (wanted("write")) measure_write(session, shape, problem, precision);
      }
      if (!wanted("train")) continue;
      const OptimizerStep step(problem.model());
      for (const char* precision : {"bf16", "f32"})
        measure_video_train(session, shape, problem, step, precision);
    }
  }
}

}  // namespace lact::bench
