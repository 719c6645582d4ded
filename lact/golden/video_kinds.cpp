// Golden cases of the video model: the interleaved sequence of training, and chunk after chunk with caches.
#include <ATen/ATen.h>

#include "lact/golden/kinds.h"
#include "lact/models/video/folder.h"
#include "lact/models/video/weights.h"

namespace lact::golden {

namespace {

struct GoldenVideo {
  models::VideoConfig config;
  int64_t noise_repeats = 1;
};

/// {"model": Wan's arguments, "attention": those of the authors' layer and of the sequence}
GoldenVideo read_golden_video(const options::Json& options) {
  LACT_CHECK(options.size() == 2 && options.contains("model") && options.contains("attention"),
             "options are not {{model, attention}}");
  models::WanModel wan;
  options::read(options["model"], wan, "options.model");
  options::Json rest = options["attention"];
  int64_t chunk_frames = 0, chunk_tokens = 0, update_every = 0;
  const auto take = [&](const char* name, int64_t& value) {
    LACT_CHECK(rest.contains(name), "options.attention has no {}", name);
    options::read(rest[name], value, std::string("options.attention.") + name);
    rest.erase(name);
    LACT_CHECK(value > 0, "options.attention.{} is {}, expected at least 1", name, value);
  };
  take("ar_window_f", chunk_frames);
  take("local_window_size", chunk_tokens);
  take("update_every", update_every);
  rest.erase("batch_size");  // the tensors have it
  rest.erase("n_latent_f");
  models::AuthorsVideoLayer layer;
  options::read(rest, layer, "options.attention");

  GoldenVideo golden = {models::translate(wan, layer), update_every / chunk_tokens - 1};
  golden.config.chunk_frames = chunk_frames;
  return golden;
}

std::unique_ptr<models::VideoModel> load_golden_video(Run& run, const models::VideoConfig& config) {
  auto model = std::make_unique<models::VideoModel>(config);
  models::load_video_weights(*model, run.folder() + "/model.safetensors");
  run.use(*model, models::foreign_names(config));
  model->set_compute_type(run.precision());
  return model;
}

}  // namespace

void run_video_training(Run& run) {
  auto [config, repeats] = read_golden_video(run.options());
  // One row per chunk, the chunks of a video one after the other.
  const at::Tensor x = run.input("x"), times = run.input("t"), text = run.input("context");
  int64_t batch = 0;
  options::read(run.description().value("batch", options::Json()), batch, "batch");
  LACT_CHECK(batch > 0 && x.dim() == 5 && x.size(0) % batch == 0, "x has shape {} for a batch of {}",
             x.sizes().vec(), batch);
  const auto model = load_golden_video(run, config);
  const auto by_video = [&](const at::Tensor& rows) { return rows.unflatten(0, {batch, -1}); };
  const at::Tensor output =
      model->forward(by_video(x).transpose(1, 2).flatten(2, 3), by_video(times), by_video(text), repeats);
  const at::Tensor rows = output.unflatten(2, {-1, config.chunk_frames}).transpose(1, 2).flatten(0, 1);
  run.expect("output", rows);
  run.expect_loss_and_gradients(rows);
}

void run_video_inference(Run& run) {
  auto config = read_golden_video(run.options()).config;
  const at::Tensor noisy = run.input("noisy"), clean = run.input("clean"), times = run.input("t");
  // Their sampler starts every update from the weights that it has, and knows no others.
  config.layer.memory.update.norm_target = ttt::NormTarget::previous;
  const auto model = load_golden_video(run, config);
  for (const auto& [branch, context] : {std::pair{"cond", "context"}, {"uncond", "context_neg"}}) {
    const at::Tensor text = run.input(context);
    const auto state = model->initial_state();
    for (int64_t chunk = 0; chunk < noisy.size(0); ++chunk) {
      if (chunk > 0) model->write(*state, clean[chunk - 1].unsqueeze(0), text);
      for (int64_t step = 0; step < noisy.size(1); ++step) {
        const at::Tensor velocity =
            model->denoise(*state, noisy[chunk][step].unsqueeze(0), times[step].reshape({1}), text);
        run.expect(fmt::format("out.chunk{}.step{}.{}", chunk, step, branch), velocity[0]);
      }
    }
    for (size_t i = 0; i < state->layers.size(); ++i) {
      const auto& layer = dynamic_cast<const HybridState&>(*state->layers[i]);
      const auto& weights = dynamic_cast<const ttt::LactState&>(*layer.memory).memory.weights;
      for (size_t j = 0; j < weights.size(); ++j)
        run.expect(fmt::format("state.{}.{}.w{}", i, branch, j), weights[j][0]);
      const auto& window = dynamic_cast<const attention::AttentionState&>(*layer.attention);
      const std::string cache = fmt::format("kv_cache.{}.{}", i, branch);
      if (run.has(cache)) run.expect(cache, at::cat({window.k.numbers, window.v.numbers}));
    }
  }
}

}  // namespace lact::golden
