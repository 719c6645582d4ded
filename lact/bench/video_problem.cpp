#include "lact/bench/video_problem.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "lact/bench/optimizer_step.h"
#include "lact/models/common/state_file.h"
#include "lact/models/video/loss.h"

namespace lact::bench {

namespace {

/// A trained model's head and memory have effect, unlike a fresh one's.
void wake(models::VideoModel& model) {
  at::NoGradGuard no_grad;
  for (auto& item : model.named_parameters()) {
    if (item.key().starts_with("head.") || item.key().find(".memory.scale.") != std::string::npos)
      item.value().normal_(0, 0.1);
  }
}

std::vector<at::Tensor> kept_numbers(const models::VideoState& state) {
  const auto copy = state.copy();
  std::vector<at::Tensor> all;
  for (const auto& [name, tensor] : models::tensors_of(*copy)) {
    if (tensor.is_floating_point() && tensor.numel() > 0) all.push_back(tensor);
  }
  return all;
}

/// Of one token that sees so many chunks; the update of the fast weights apart.
struct TokenWork {
  double reading = 0, updating = 0;

  TokenWork(const models::VideoConfig& config, int64_t chunks_seen) {
    const models::ModelCost cost = models::cost(config, {chunks_seen});
    for (const auto& block : cost.blocks) {
      for (const auto& part : block.parts) {
        const bool updates = part.name == "update" || part.name == "Muon";
        (updates ? updating : reading) += double(block.count) * part.flops;
      }
    }
    for (const auto& part : cost.others) reading += part.flops;
  }
};

}  // namespace

std::string VideoShape::text() const { return fmt::format("{} {}x{}", name, config.grid().tokens(), before); }

std::string VideoShape::train_text() const {
  return fmt::format("{} {}x{}", name, config.grid().tokens(), chunks);
}

VideoProblem::VideoProblem(const VideoShape& shape) : before_(shape.before) {
  at::manual_seed(17);
  const auto& config = shape.config;
  model_ = std::make_shared<models::VideoModel>(config);
  wake(*model_);
  const auto frames = [&](int64_t chunks) {
    return at::randn(
        {1, config.in_channels, chunks * config.chunk_frames, config.latent_height, config.latent_width});
  };
  chunk_ = frames(1);
  timestep_ = at::full({1}, 500.0, at::kFloat);
  text_ = at::randn({1, config.text_length, config.text_dim});
  const at::Tensor clean = frames(shape.chunks);
  clip_ = models::teacher_forcing(clean, at::randn_like(clean).unsqueeze(1),
                                  models::draw_times(1, 1, shape.chunks, 17), {});
}

std::unique_ptr<models::VideoState> VideoProblem::begin(at::ScalarType type) const {
  auto state = model_->initial_state();
  for (int64_t i = 0; i < before_; ++i) state = write(*state, type);
  return state;
}

at::Tensor VideoProblem::denoise(const models::VideoState& state, at::ScalarType type) const {
  model_->set_compute_type(type);
  return model_->denoise(state, chunk_, timestep_, text_);
}

std::unique_ptr<models::VideoState> VideoProblem::write(const models::VideoState& state,
                                                        at::ScalarType type) const {
  model_->set_compute_type(type);
  auto next = state.copy();
  model_->write(*next, chunk_, text_);
  return next;
}

at::Tensor VideoProblem::loss(at::ScalarType type) const {
  model_->set_compute_type(type);
  return models::weighted_velocity_loss(model_->forward(clip_.latents, clip_.timesteps, text_, 1), clip_);
}

double VideoProblem::denoise_error(const models::VideoState& state, at::ScalarType type, bool fused) const {
  at::Tensor expected, found;
  with_paths(false, [&] { expected = denoise(state, at::kFloat); });
  with_paths(fused, [&] { found = denoise(state, type); });
  return norm_error({found}, {expected});
}

double VideoProblem::write_error(const models::VideoState& state, at::ScalarType type, bool fused) const {
  std::vector<at::Tensor> expected, found;
  with_paths(false, [&] { expected = kept_numbers(*write(state, at::kFloat)); });
  with_paths(fused, [&] { found = kept_numbers(*write(state, type)); });
  return norm_error(found, expected);
}

double VideoProblem::gradient_error(at::ScalarType type, bool fused) const {
  std::vector<at::Tensor> expected, found;
  with_paths(false, [&] { expected = gradients_of(*model_, [&] { return loss(at::kFloat); }); });
  with_paths(fused, [&] { found = gradients_of(*model_, [&] { return loss(type); }); });
  return norm_error(found, expected);
}

double denoise_work(const models::VideoConfig& config, int64_t before) {
  return double(config.grid().tokens()) * TokenWork(config, before + 1).reading;
}

// A clean chunk attends to itself alone, unless full attention shows it all before it.
double write_work(const models::VideoConfig& config, int64_t before) {
  const bool sees_all = config.mixer.has(models::MixerKind::full);
  const TokenWork work(config, sees_all ? before + 1 : 1);
  return double(config.grid().tokens()) * (work.reading + work.updating);
}

double clip_work(const models::VideoConfig& config, int64_t chunks) {
  double work = 0;
  for (int64_t i = 0; i < chunks; ++i) {
    work += denoise_work(config, i);
    if (i + 1 < chunks) work += write_work(config, i);
  }
  return work;
}

}  // namespace lact::bench
