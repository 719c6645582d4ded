#include "lact/bench/nvs_problem.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>

#include "lact/bench/optimizer_step.h"
#include "lact/models/common/state_file.h"
#include "lact/ops/dispatch/paths.h"
#include "lact/ops/images/rays.h"

namespace lact::bench {

namespace {

using models::MixerKind;

std::vector<at::Tensor> numbers_of(models::NvsState& state) {
  std::vector<at::Tensor> all;
  for (const auto& [name, tensor] : models::tensors_of(state)) {
    if (tensor.is_floating_point() && tensor.numel() > 0) all.push_back(tensor);
  }
  return all;
}

/// Cameras on a ring around the origin, which they look at; [V, 4, 4].
at::Tensor ring(int64_t views) {
  at::Tensor poses = at::eye(4).repeat({views, 1, 1});
  for (int64_t i = 0; i < views; ++i) {
    const double angle = 2 * M_PI * double(i) / double(views);
    at::Tensor pose = poses[i];
    pose[0][0] = std::cos(angle), pose[0][2] = -std::sin(angle);
    pose[2][0] = std::sin(angle), pose[2][2] = std::cos(angle);
    pose[0][3] = 2 * std::sin(angle), pose[2][3] = -2 * std::cos(angle);
  }
  return poses;
}

/// Works of one token, or of the whole where it says so.
struct Counted {
  double square, attention, feed_forward, embedding, decoder;  // square: a product with an M x M matrix

  explicit Counted(const NvsShape& shape) {
    const auto& config = shape.config;
    const auto width = double(config.model_dim);
    square = 2 * width * width;
    attention = 4 * square + 4 * double(shape.tokens_of_view()) * width;
    feed_forward = models::feed_forward_cost(config.model_dim, config.feed_forward).flops;
    embedding = 2 * double(config.input_channels()) * width;
    decoder = 2 * double(config.output_channels()) * width;
  }
};

/// What a block does besides per-image attention and feed-forward, per token that is written, per token that
/// reads, and once.
struct Between {
  double write, read, once = 0;
};

double sum_of(const NvsShape& shape, NvsPass pass, const Between& inputs, const Between& targets) {
  const Counted each(shape);
  const auto layers = double(shape.config.num_layers), view = double(shape.tokens_of_view());
  const double read = view * double(shape.inputs);
  const double rendered = pass == NvsPass::render ? view : view * double(shape.targets);
  // The last block is written alone.
  const double reconstruct = read * (each.embedding + layers * (each.attention + inputs.write) +
                                     (layers - 1) * (inputs.read + each.feed_forward)) +
                             layers * inputs.once;
  const double render =
      rendered *
      (each.embedding + layers * (each.attention + targets.read + each.feed_forward) + each.decoder);
  if (pass == NvsPass::reconstruct) return reconstruct;
  return pass == NvsPass::render ? render : reconstruct + render;
}

double lact_work(const NvsShape& shape, NvsPass pass) {
  const auto fast = models::fast_weight_cost(shape.config.model_dim, shape.config.lact.memory);
  const double pair = 2 * Counted(shape).square;
  const Between between = {pair + fast.update_flops, pair + fast.apply_flops, fast.muon_flops};
  return sum_of(shape, pass, between, between);
}

double full_work(const NvsShape& shape, NvsPass pass) {
  const double pair = 2 * Counted(shape).square, width = double(shape.config.model_dim);
  const auto view = double(shape.tokens_of_view()), all = view * double(shape.inputs);
  return sum_of(shape, pass, {pair, pair + 4 * all * width}, {0, 2 * pair + 4 * (all + view) * width});
}

double perceiver_work(const NvsShape& shape, NvsPass pass) {
  const Counted each(shape);
  const auto width = double(shape.config.model_dim), registers = double(shape.config.perceiver.registers);
  const auto layers = double(shape.config.num_layers), reading = double(shape.config.writing_layers());
  const auto view = double(shape.tokens_of_view()), all = view * double(shape.inputs);
  const double improved = registers * (4 * each.square + 4 * (all + registers) * width + each.feed_forward);
  const double reconstruct = all * (each.embedding + reading * (each.attention + 2 * each.square) +
                                    (reading - 1) * each.feed_forward) +
                             reading * improved;
  const double rendered = pass == NvsPass::render ? view : view * double(shape.targets);
  const double render =
      rendered * (each.embedding + layers * (each.attention + each.feed_forward) +
                  (layers - reading) * (2 * each.square + 4 * registers * width) + each.decoder) +
      (layers - reading) * registers * 2 * each.square;
  if (pass == NvsPass::reconstruct) return reconstruct;
  return pass == NvsPass::render ? render : reconstruct + render;
}

}  // namespace

std::string NvsShape::text() const { return fmt::format("{} {}x{}", name, inputs, size); }

std::string NvsShape::rule() const {
  const std::string words = config.mixer.text();
  if (config.mixer != MixerKind::perceiver) return words;
  return fmt::format("{} {}", words, config.perceiver.registers);
}

int64_t NvsShape::tokens_of_view() const { return (size / config.patch_size) * (size / config.patch_size); }

options::Json NvsShape::sizes() const {
  return {{"views", inputs},
          {"pixels", size},
          {"tokens_of_view", tokens_of_view()},
          {"parameters", models::cost(config).total().parameters}};
}

NvsProblem::NvsProblem(const NvsShape& shape)
    : inputs_(shape.inputs), targets_(shape.targets), size_(shape.size) {
  at::manual_seed(17);
  model_ = std::make_shared<models::NvsModel>(shape.config);
  {
    // A fresh decoder says nearly the same of everything, and a fresh block adds next to nothing.
    at::NoGradGuard no_grad;
    for (auto& item : model_->named_parameters()) {
      if (item.key() == "decoder.weight" || item.key().ends_with("projection.output.weight"))
        item.value().normal_(0, 1 / std::sqrt(double(shape.config.model_dim)));
    }
  }
  const int64_t views = inputs_ + targets_;
  images_ = at::rand({views, 3, size_, size_});
  const auto side = float(size_);
  intrinsics_ = at::tensor({side, side, side / 2, side / 2}).repeat({views, 1});
  camera_to_world_ = ring(views);
}

std::unique_ptr<models::NvsState> NvsProblem::reconstruct(at::ScalarType type) const {
  model_->set_compute_type(type);
  models::ReconstructOptions options;
  // The reference form of attention makes all scores of a piece at once.
  if (!ops::fused_paths()) options.piece_tokens = 2048;
  return model_->reconstruct(images_.narrow(0, 0, inputs_).unbind(0), intrinsics_.narrow(0, 0, inputs_),
                             camera_to_world_.narrow(0, 0, inputs_), options);
}

at::Tensor NvsProblem::render(const models::NvsState& state, at::ScalarType type) const {
  model_->set_compute_type(type);
  return model_->render(state, intrinsics_[inputs_], camera_to_world_[inputs_], size_, size_);
}

at::Tensor NvsProblem::loss(at::ScalarType type) const {
  model_->set_compute_type(type);
  const at::Tensor rays = ops::plucker_rays(intrinsics_, camera_to_world_, size_, size_).unsqueeze(0);
  const at::Tensor found = model_->forward(images_.narrow(0, 0, inputs_).unsqueeze(0),
                                           rays.narrow(1, 0, inputs_), rays.narrow(1, inputs_, targets_));
  return (found[0] - images_.narrow(0, inputs_, targets_)).square().mean();
}

double NvsProblem::reconstruct_error(at::ScalarType type, bool fused) const {
  std::unique_ptr<models::NvsState> expected, found;
  with_paths(false, [&] { expected = reconstruct(at::kFloat); });
  with_paths(fused, [&] { found = reconstruct(type); });
  return norm_error(numbers_of(*found), numbers_of(*expected));
}

double NvsProblem::render_error(const models::NvsState& state, at::ScalarType type, bool fused) const {
  at::Tensor expected, found;
  with_paths(false, [&] { expected = render(state, at::kFloat) - 0.5; });
  with_paths(fused, [&] { found = render(state, type) - 0.5; });
  return norm_error({found}, {expected});
}

double NvsProblem::gradient_error(at::ScalarType type, bool fused) const {
  std::vector<at::Tensor> expected, found;
  with_paths(false, [&] { expected = gradients_of(*model_, [&] { return loss(at::kFloat); }); });
  with_paths(fused, [&] { found = gradients_of(*model_, [&] { return loss(type); }); });
  return norm_error(found, expected);
}

models::NvsConfig quick_nvs_config() {
  models::NvsConfig config;
  config.patch_size = 4;
  config.model_dim = 32;
  config.num_layers = 2;
  config.attention = models::nvs_attention(2);
  config.feed_forward.hidden_dim = 64;
  return config;
}

Trial nvs_trial(const Session& session, const NvsShape& shape, const std::string& pass,
                const std::string& precision, const std::function<double(at::ScalarType, bool)>& error) {
  constexpr double kTolerance = 0.15, kTolerance32 = 1e-2;
  const bool bf16 = precision == "bf16";
  Trial trial;
  trial.row = {"nvs", shape.text(), shape.rule(), pass, precision};
  trial.row.sizes = shape.sizes();
  trial.error = [=] { return error(type_of(precision), true); };
  trial.tolerance = bf16 ? kTolerance : kTolerance32;
  if (bf16) {
    trial.rounding = GrowingRounding{[=] { return error(at::kBFloat16, false); },
                                     {{"in float32", [=] { return error(at::kFloat, true); }, kTolerance32}}};
  }
  trial.limit = bf16 ? session.machine().limits.peak() : session.machine().limits.f32;
  return trial;
}

double nvs_work(const NvsShape& shape, NvsPass pass) {
  const models::MixerPattern& mixer = shape.config.mixer;
  if (mixer == MixerKind::lact) return lact_work(shape, pass);
  if (mixer == MixerKind::full) return full_work(shape, pass);
  if (mixer == MixerKind::perceiver) return perceiver_work(shape, pass);
  return 0;
}

options::Json nvs_peer_request(const NvsShape& shape, const std::string& op) {
  const auto& config = shape.config;
  return {{"op", op},
          {"sizes",
           {{"patch", config.patch_size},
            {"width", config.model_dim},
            {"layers", config.num_layers},
            {"heads", config.attention.attention.num_heads},
            {"memory_heads", config.lact.memory.num_heads},
            {"fast_hidden", int64_t(double(config.model_dim / config.lact.memory.num_heads) *
                                    config.lact.memory.hidden_multiple)},
            {"hidden", config.feed_forward.hidden_dim}}},
          {"inputs", shape.inputs},
          {"targets", shape.targets},
          {"size", shape.size}};
}

}  // namespace lact::bench
