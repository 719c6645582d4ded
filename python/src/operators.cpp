// torch.ops.lact.*: the library's operations under schemas. Each has a `_backward` beside it. Which glue
// connects the two is chosen when the module is loaded (lact_torch/_library.py): LibTorch's autograd through
// the library's own functions (`_use_cpp_autograd`), or torch.library.register_autograd.
#include <torch/library.h>

#include "differentiable.h"
#include "fast_weights.h"
#include "lact/base/threads.h"
#include "lact/io/safetensors.h"
#include "lact/ops/activations/activations.h"
#include "lact/ops/attention/window_attention.h"
#include "lact/ops/dispatch/paths.h"
#include "lact/ops/linear/linear.h"
#include "lact/ops/newton_schulz/newton_schulz.h"
#include "lact/ops/norms/norms.h"
#include "lact/ops/recurrences/delta_rule.h"
#include "lact/ops/recurrences/gla.h"
#include "lact/ops/recurrences/ssd.h"
#include "lact/ops/rope/rope.h"
#include "lact/ops/splat/splat.h"
#include "parsed.h"

namespace lact::python {

namespace {

// --- Attention, recurrences, Gaussians -----------------------------------------------------------------

/// Rows of six: queries' begin and end, keys' begin and end, band, ahead. Rows of the same queries that
/// follow each other are one block.
ops::Window read_window(at::IntArrayRef rows) {
  LACT_CHECK(rows.size() % 6 == 0, "[window_attention] the window has {} numbers, expected rows of 6",
             rows.size());
  ops::Window window;
  for (size_t i = 0; i < rows.size(); i += 6) {
    const Range queries = {rows[i], rows[i + 1]};
    if (window.blocks.empty() || !(window.blocks.back().queries == queries))
      window.blocks.push_back({queries, {}});
    window.blocks.back().keys.push_back({{rows[i + 2], rows[i + 3]}, rows[i + 4], rows[i + 5]});
  }
  return window;
}

at::Tensor window_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            at::IntArrayRef window, int64_t first_query, int64_t first_key) {
  return ops::window_attention(q, k, v, read_window(window), first_query, first_key);
}

at::Tensor newton_schulz(const at::Tensor& matrix, const std::string& options) {
  return ops::newton_schulz(matrix, parsed<ops::NewtonSchulzOptions>(options, "options"));
}

using Recurrence = std::tuple<at::Tensor, at::Tensor>;

Recurrence gla(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& log_decay,
               const at::Tensor& state, double scale) {
  const auto result = ops::gla(q, k, v, log_decay, state, scale);
  return {result.out, result.state};
}

Recurrence delta_rule(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& beta,
                      const at::Tensor& state, double scale) {
  const auto result = ops::delta_rule(q, k, v, beta, state, scale);
  return {result.out, result.state};
}

Recurrence ssd(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& log_decay,
               const at::Tensor& state) {
  const auto result = ops::ssd(q, k, v, log_decay, state);
  return {result.out, result.state};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> splat(
    const at::Tensor& means, const at::Tensor& quaternions, const at::Tensor& log_scales,
    const at::Tensor& opacity_logits, const at::Tensor& harmonics, const Optional<at::Tensor>& screen_offsets,
    const at::Tensor& intrinsics, const at::Tensor& camera_to_world, int64_t height, int64_t width,
    int64_t degree, at::ArrayRef<double> background, double blur, double near, double far) {
  LACT_CHECK(background.size() == 3, "[splat] the background has {} numbers, expected 3", background.size());
  ops::SplatOptions options;
  options.degree = degree;
  std::copy(background.begin(), background.end(), options.background.begin());
  options.blur = blur, options.near = near, options.far = far;
  options.screen_offsets = screen_offsets.value_or(at::Tensor());
  const auto camera = ops::splat_camera(intrinsics.detach(), camera_to_world.detach(), height, width);
  const auto picture =
      ops::splat({means, quaternions, log_scales, opacity_logits, harmonics}, camera, options);
  return {picture.image, picture.alpha, picture.depth, picture.radii};
}

// --- What layers do between them -----------------------------------------------------------------------

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const Optional<at::Tensor>& bias) {
  return ops::linear(x, weight, bias.value_or(at::Tensor()));
}

at::Tensor rms_norm(const at::Tensor& x, const Optional<at::Tensor>& weight, double epsilon) {
  return ops::rms_norm(x, weight.value_or(at::Tensor()), epsilon);
}

at::Tensor scale_shift(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& shift) {
  return ops::scale_shift(x, scale, shift);
}

at::Tensor l2_norm(const at::Tensor& x, double epsilon) { return ops::l2_normalize(x, epsilon); }
at::Tensor silu_l2_norm(const at::Tensor& x, double epsilon) { return ops::silu_l2_normalize(x, epsilon); }
at::Tensor gated_silu(const at::Tensor& gate, const at::Tensor& up) { return ops::gated_silu(gate, up); }

/// angles [2, T, D/2]: cos and sin, float64.
at::Tensor rope(const at::Tensor& x, const at::Tensor& angles, bool neighbours) {
  LACT_CHECK(angles.dim() == 3 && angles.size(0) == 2, "[rope] angles has shape {}, expected [2, T, D / 2]",
             angles.sizes().vec());
  const at::Tensor table = angles.detach();
  return ops::rope(x, {table[0], table[1], table.to(at::kFloat)},
                   neighbours ? ops::RopePairs::neighbours : ops::RopePairs::halves);
}

at::Tensor rope_angles(const at::Tensor& positions, int64_t head_dim, double base) {
  const auto table = ops::rope_table(positions, head_dim, {base, ops::RopePairs::halves});
  return at::stack({table.cos, table.sin});
}

// --- Files ---------------------------------------------------------------------------------------------

using NamedTensors = c10::Dict<std::string, at::Tensor>;

NamedTensors load_safetensors(const std::string& path) {
  NamedTensors tensors;
  for (const auto& [name, tensor] : io::read_safetensors(path).tensors) tensors.insert(name, tensor);
  return tensors;
}

void save_safetensors(const std::string& path, const NamedTensors& tensors) {
  io::TensorFile file;
  for (const auto& entry : tensors) file.tensors[entry.key()] = entry.value();
  io::write_safetensors(path, file);
}

// --- Their names ---------------------------------------------------------------------------------------

template <auto function>
struct Operator {
  const char *name, *arguments, *results;
  using Kernels = Differentiable<function>;
  static constexpr auto kFunction = function;
};

template <class Action>
void each_operator(const Action& action) {
  const char* const scan_arguments =
      "Tensor q, Tensor k, Tensor v, Tensor[] rates, Tensor? beta, Tensor[] memory, Tensor[] "
      "initial_weights, "
      "int[] schedule, int first_query, int first_key, str rule";
  const char* const splat_arguments =
      "Tensor means, Tensor quaternions, Tensor log_scales, Tensor opacity_logits, Tensor harmonics, "
      "Tensor? screen_offsets, Tensor intrinsics, Tensor camera_to_world, int height, int width, int degree, "
      "float[] background, float blur, float near, float far";
  const char* const gla_arguments =
      "Tensor q, Tensor k, Tensor v, Tensor log_decay, Tensor state, float scale";
  const char* const delta_arguments = "Tensor q, Tensor k, Tensor v, Tensor beta, Tensor state, float scale";
  const char* const ssd_arguments = "Tensor q, Tensor k, Tensor v, Tensor log_decay, Tensor state";
  const char* const window_arguments =
      "Tensor q, Tensor k, Tensor v, int[] window, int first_query, int first_key";

  action(Operator<start_memory>{"start_memory", "Tensor[] weights, str rule", "Tensor[]"});
  action(Operator<scan>{"ttt", scan_arguments, "(Tensor, Tensor[])"});
  action(Operator<window_attention>{"window_attention", window_arguments, "Tensor"});
  action(Operator<newton_schulz>{"newton_schulz", "Tensor matrix, str options", "Tensor"});
  action(Operator<gla>{"gla", gla_arguments, "(Tensor, Tensor)"});
  action(Operator<delta_rule>{"delta_rule", delta_arguments, "(Tensor, Tensor)"});
  action(Operator<ssd>{"ssd", ssd_arguments, "(Tensor, Tensor)"});
  action(Operator<splat>{"splat", splat_arguments, "(Tensor, Tensor, Tensor, Tensor)"});
  action(Operator<linear>{"linear", "Tensor x, Tensor weight, Tensor? bias", "Tensor"});
  action(Operator<rms_norm>{"rms_norm", "Tensor x, Tensor? weight, float epsilon", "Tensor"});
  action(Operator<scale_shift>{"scale_shift", "Tensor x, Tensor scale, Tensor shift", "Tensor"});
  action(Operator<l2_norm>{"l2_norm", "Tensor x, float epsilon", "Tensor"});
  action(Operator<silu_l2_norm>{"silu_l2_norm", "Tensor x, float epsilon", "Tensor"});
  action(Operator<gated_silu>{"gated_silu", "Tensor gate, Tensor up", "Tensor"});
  action(Operator<rope>{"rope", "Tensor x, Tensor angles, bool neighbours", "Tensor"});
  action(Operator<rope_angles>{"rope_angles", "Tensor positions, int head_dim, float base", "Tensor"});
}

/// LibTorch below 2.4: the operators' autograd is the library's own, which keeps what it needs from the
/// forward pass. Tensors without values have no default there.
void use_cpp_autograd() {
  static torch::Library library(torch::Library::IMPL, "lact", {}, __FILE__, __LINE__);
  static const bool done = [] {
    each_operator([](const auto& op) {
      for (const auto key : {c10::DispatchKey::AutogradCPU, c10::DispatchKey::AutogradCUDA})
        library.impl(op.name, torch::dispatch(key, std::decay_t<decltype(op)>::kFunction));
      for (const std::string& name : {std::string(op.name), std::string(op.name) + "_backward"})
        library.impl(name.c_str(),
                     torch::dispatch(c10::DispatchKey::AutogradMeta, torch::CppFunction::makeFallthrough()));
    });
    return true;
  }();
  (void)done;
}

}  // namespace

TORCH_LIBRARY(lact, library) {
  each_operator([&](const auto& op) {
    using Kernels = typename std::decay_t<decltype(op)>::Kernels;
    const std::string name = op.name, backward = name + "_backward";
    library.def(fmt::format("{}({}) -> {}", name, op.arguments, op.results).c_str());
    library.def(fmt::format("{}(Tensor?[] gradients, {}) -> Tensor[]", backward, op.arguments).c_str());
    for (const auto key : {c10::DispatchKey::CPU, c10::DispatchKey::CUDA}) {
      library.impl(name.c_str(), torch::dispatch(key, &Kernels::forward));
      library.impl(backward.c_str(), torch::dispatch(key, &Kernels::backward));
    }
  });
  library.def("load_safetensors(str path) -> Dict(str, Tensor)", load_safetensors);
  library.def("save_safetensors(str path, Dict(str, Tensor) tensors) -> ()", save_safetensors);
  library.def("_use_cpp_autograd() -> ()", use_cpp_autograd);
  library.def("set_fused_paths(bool on) -> ()", ops::set_fused_paths);
  library.def("use_threads(int count) -> ()", [](int64_t count) { use_threads(int(count)); });
}

}  // namespace lact::python
