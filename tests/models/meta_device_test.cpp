// No operation of a model assumes a processor: all of them run on LibTorch's meta device, where a tensor has
// a shape and no memory.
#include <ATen/ExpandUtils.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <gtest/gtest.h>
#include <torch/library.h>

#include <memory>
#include <utility>

#include "lact/base/options.h"
#include "lact/models/lm/loss.h"
#include "lact/models/umt5/encoder.h"
#include "lact/models/vae/model.h"
#include "lact/models/video/loss.h"
#include "lact/ops/dispatch/paths.h"
#include "support/tiny_lm.h"
#include "support/tiny_nvs.h"
#include "support/tiny_video.h"

namespace lact {

namespace {

constexpr auto kModeKey = c10::DispatchKey::TESTING_ONLY_GenericMode;

enum class Mode {
  factories,  ///< tensors that are made without a device are made on the meta device
  strict,     ///< no operation may see a tensor of the meta device and one of the processor
};
thread_local Mode current_mode = Mode::strict;

/// Every operation passes by here while it lives, those of the backward pass and inside of others as well.
class Watch {
 public:
  explicit Watch(Mode mode) : before_(std::exchange(current_mode, mode)), guard_(kModeKey) {}
  ~Watch() { current_mode = before_; }

 private:
  Mode before_;
  c10::impl::IncludeDispatchKeyGuard guard_;
};

/// These bring a tensor from one device to another.
bool moves_tensors(const std::string& operation) {
  return operation == "aten::copy_" || operation == "aten::to" || operation == "aten::_to_copy" ||
         operation == "aten::type_as" || operation == "aten::set_data";
}

/// LibTorch's own kernels find a mistake in most operations, but not in matrix products.
void refuse_mixture(const c10::FunctionSchema& schema, const torch::jit::Stack& stack, size_t first) {
  if (moves_tensors(schema.name())) return;
  bool meta = false, processor = false;
  const auto look = [&](const at::Tensor& x) {
    if (!x.defined()) return;
    meta |= x.is_meta();
    processor |= x.is_cpu() && x.dim() > 0;  // any device takes a number
  };
  for (size_t i = first; i < stack.size(); ++i) {
    if (stack[i].isTensor()) look(stack[i].toTensor());
    if (stack[i].isTensorList())
      for (const at::Tensor& x : stack[i].toTensorVector()) look(x);
  }
  TORCH_CHECK(!(meta && processor), schema.name(), ": a tensor of the processor among those of the device");
}

void watch(const c10::OperatorHandle& operation, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const auto& arguments = operation.schema().arguments();
  const size_t first = stack->size() - arguments.size();
  if (current_mode == Mode::strict) refuse_mixture(operation.schema(), *stack, first);
  for (size_t i = 0; current_mode == Mode::factories && i < arguments.size(); ++i) {
    c10::IValue& value = (*stack)[first + i];
    if (arguments[i].name() == "device" && value.isNone()) value = c10::Device(c10::kMeta);
  }
  const c10::DispatchKeySet below(c10::DispatchKeySet::FULL_AFTER, kModeKey);
  if (current_mode == Mode::strict) {
    operation.redispatchBoxed(keys & below, stack);
  } else {
    const c10::impl::ExcludeDispatchKeyGuard once(kModeKey);
    operation.callBoxed(stack);
  }
}

TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericMode, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&watch>());
}

// LibTorch 1.13 has no meta kernels for these; what they answer is known from the shapes.

at::Tensor index_select_shape(const at::Tensor& x, int64_t dim, const at::Tensor& index) {
  auto sizes = x.sizes().vec();
  sizes[size_t(dim < 0 ? dim + x.dim() : dim)] = index.numel();
  return at::empty(sizes, x.options());
}
at::Tensor embedding_gradient_shape(const at::Tensor& gradient, const at::Tensor&, int64_t rows, int64_t,
                                    bool) {
  return at::empty({rows, gradient.size(-1)}, gradient.options());
}
at::Tensor flip_shape(const at::Tensor& x, at::IntArrayRef) { return at::empty_like(x); }
std::tuple<at::Tensor, at::Tensor> log_sigmoid_shapes(const at::Tensor& x) {
  return {at::empty_like(x), at::empty({0}, x.options())};
}
at::Tensor log_sigmoid_gradient_shape(const at::Tensor& gradient, const at::Tensor&, const at::Tensor&) {
  return at::empty_like(gradient);
}
at::Tensor where_shape(const at::Tensor& condition, const at::Tensor& x, const at::Tensor& y) {
  return at::empty(at::infer_size(condition.sizes(), at::infer_size(x.sizes(), y.sizes())), x.options());
}
at::Tensor& abs_shape(const at::Tensor& x, at::Tensor& out) {
  out.resize_(x.sizes());
  return out;
}
at::Tensor& logical_or_shape(const at::Tensor& x, const at::Tensor& y, at::Tensor& out) {
  out.resize_(at::infer_size(x.sizes(), y.sizes()));
  return out;
}
at::Tensor solve_shape(const at::Tensor&, const at::Tensor& b, bool, bool, bool) { return at::empty_like(b); }
at::Tensor convolution_shape(const at::Tensor& x, const at::Tensor& weight, const c10::optional<at::Tensor>&,
                             at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
                             bool transposed, at::IntArrayRef, int64_t) {
  TORCH_CHECK(!transposed);
  std::vector<int64_t> sizes = {x.size(0), weight.size(0)};
  for (int64_t i = 0; i + 2 < x.dim(); ++i) {
    const auto d = size_t(i);
    const int64_t reach = dilation[d] * (weight.size(i + 2) - 1) + 1;
    sizes.push_back((x.size(i + 2) + 2 * padding[d] - reach) / stride[d] + 1);
  }
  return at::empty(sizes, x.options());
}
std::tuple<at::Tensor, at::Tensor, at::Tensor> convolution_gradient_shapes(
    const at::Tensor&, const at::Tensor& x, const at::Tensor& weight, at::IntArrayRef, at::IntArrayRef,
    at::IntArrayRef, bool, at::IntArrayRef, int64_t, std::array<bool, 3>) {
  return {at::empty_like(x), at::empty_like(weight), at::empty({weight.size(0)}, weight.options())};
}

TORCH_LIBRARY_IMPL(aten, Meta, library) {
  const auto missing = [](const char* name, const char* overload) {
    const auto found = c10::Dispatcher::singleton().findSchema({std::string("aten::") + name, overload});
    return found && !found->hasComputedKernelForDispatchKey(c10::DispatchKey::Meta);
  };
  if (missing("index_select", "")) library.impl("index_select", &index_select_shape);
  if (missing("embedding_dense_backward", ""))
    library.impl("embedding_dense_backward", &embedding_gradient_shape);
  if (missing("abs", "out")) library.impl("abs.out", &abs_shape);
  if (missing("logical_or", "out")) library.impl("logical_or.out", &logical_or_shape);
  if (missing("flip", "")) library.impl("flip", &flip_shape);
  if (missing("log_sigmoid_forward", "")) library.impl("log_sigmoid_forward", &log_sigmoid_shapes);
  if (missing("log_sigmoid_backward", "")) library.impl("log_sigmoid_backward", &log_sigmoid_gradient_shape);
  if (missing("where", "self")) library.impl("where.self", &where_shape);
  library.impl("convolution_overrideable", &convolution_shape);
  library.impl("convolution_backward_overrideable", &convolution_gradient_shapes);
  if (missing("linalg_solve_triangular", "")) library.impl("linalg_solve_triangular", &solve_shape);
}

/// A model without memory. Its parameters cannot move there later: LibTorch's Module::to() keeps their
/// handles, and a handle of a tensor with memory cannot become one without.
template <class Model, class Config>
std::shared_ptr<Model> make_on_meta(const Config& config) {
  const Watch mode(Mode::factories);
  return std::make_shared<Model>(config);
}

at::Tensor on_meta(const at::Tensor& x) { return x.to(c10::Device(c10::kMeta)); }

/// Every mixer and update rule of tiny_lms(), and what else a memory can be.
std::vector<std::pair<std::string, models::LmConfig>> language_models() {
  auto all = testing::tiny_lms();
  for (const char* network : {"swiglu", "linear", "ttt_linear", "ttt_mlp"}) {
    for (const char* loss : {"dot_product", "squared_error"}) {
      auto config = testing::tiny_lm();
      config.layer.memory.network = network;
      config.layer.memory.loss = loss;
      config.layer.memory.update.steps = 2;
      config.layer.memory.update.ascent = true;
      config.layer.memory.update.elastic.pull = 0.3;
      config.layer.memory.update.norm_target = ttt::NormTarget::previous;
      all.emplace_back(fmt::format("{}, {}, two elastic steps", network, loss), config);
      config.layer.memory.update = {};
      config.layer.memory.update.written = ttt::Written::down;
      all.emplace_back(fmt::format("{}, {}, down only", network, loss), config);
    }
  }
  return all;
}

/// Every parameter has a gradient of its shape, where it is.
void expect_gradients(const torch::nn::Module& model, const at::Tensor& loss) {
  ASSERT_TRUE(loss.is_meta());
  loss.backward();
  for (const auto& item : model.named_parameters()) {
    const at::Tensor& gradient = item.value().grad();
    ASSERT_TRUE(gradient.defined()) << item.key();
    EXPECT_TRUE(gradient.is_meta()) << item.key();
    EXPECT_EQ(gradient.sizes(), item.value().sizes()) << item.key();
  }
}

/// With the forms that a device gets by itself, and with the plain ones of --reference.
class MetaDevice : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override { ops::set_fused_paths(GetParam()); }
  void TearDown() override { ops::set_fused_paths(true); }
};
INSTANTIATE_TEST_SUITE_P(Paths, MetaDevice, ::testing::Bool());

}  // namespace

TEST_P(MetaDevice, RefusesTensorsOfTheProcessor) {
  const at::Tensor elsewhere = at::empty({2, 3}, c10::Device(c10::kMeta));
  const Watch strict(Mode::strict);
  EXPECT_THROW(elsewhere + at::ones({2, 3}), c10::Error);
  EXPECT_THROW(at::matmul(elsewhere, at::ones({3, 2})), c10::Error);
  EXPECT_THROW(at::cat({elsewhere, at::ones({2, 3})}), c10::Error);
  EXPECT_THROW(elsewhere.sum().item<float>(), c10::Error);
  EXPECT_NO_THROW(elsewhere * 2 + at::ones({2, 3}).to(elsewhere.device()));
}

TEST_P(MetaDevice, EveryLanguageModelRunsThere) {
  for (const auto& [name, config] : language_models()) {
    SCOPED_TRACE(name);
    const auto model = make_on_meta<models::LanguageModel>(config);
    const at::Tensor ids = testing::random_ids(2, 35);
    const Watch strict(Mode::strict);
    const at::Tensor hidden = model->hidden(ids);
    EXPECT_EQ(hidden.sizes(), at::IntArrayRef({2, 35, 16}));
    expect_gradients(*model, models::next_token_losses(*model, hidden, on_meta(ids)).mean());

    at::NoGradGuard no_grad;
    const auto state = model->initial_state(2);
    for (const int64_t tokens : {17, 1, 1, 9}) {
      const at::Tensor logits = model->logits(model->advance(ids.narrow(1, 0, tokens), *state));
      EXPECT_TRUE(logits.is_meta());
      EXPECT_EQ(logits.sizes(), at::IntArrayRef({2, tokens, config.vocabulary_size}));
    }
  }
}

TEST_P(MetaDevice, DocumentsInOneRowRunThere) {
  const auto model = make_on_meta<models::LanguageModel>(testing::tiny_lm());
  const at::Tensor ids = testing::random_ids(2, 35);
  const Watch strict(Mode::strict);
  const at::Tensor hidden = model->hidden_of_documents(ids, {20, 1, 14});
  expect_gradients(*model, models::next_token_losses(*model, hidden, on_meta(ids)).mean());
}

TEST_P(MetaDevice, EveryViewModelRunsThere) {
  for (const auto mixer : testing::kNvsMixers) {
    SCOPED_TRACE(options::word_of(mixer));
    const auto model = make_on_meta<models::NvsModel>(testing::tiny_nvs(mixer));
    auto views = testing::tiny_scene(4, 8, 12);
    for (auto* part : {&views.images, &views.intrinsics, &views.camera_to_world}) *part = on_meta(*part);
    const Watch strict(Mode::strict);
    const at::Tensor rendered = testing::forward_of(*model, views, 2);
    EXPECT_EQ(rendered.sizes(), at::IntArrayRef({2, 3, 8, 12}));
    expect_gradients(*model, rendered.mean());

    const auto scene = model->reconstruct(views.list(), views.intrinsics, views.camera_to_world);
    const at::Tensor view = model->render(*scene, views.intrinsics[0], views.camera_to_world[0], 8, 12);
    EXPECT_TRUE(view.is_meta());
    EXPECT_EQ(view.sizes(), at::IntArrayRef({3, 8, 12}));
  }
}

TEST_P(MetaDevice, EveryVideoModelRunsThere) {
  for (const auto mixer : testing::kVideoMixers) {
    SCOPED_TRACE(options::word_of(mixer));
    const auto config = testing::tiny_video(mixer);
    const auto model = make_on_meta<models::VideoModel>(config);
    auto clip = testing::tiny_clip(config, 2, 2, 1);
    clip.latents = on_meta(clip.latents);  // time steps and text come from the processor
    const Watch strict(Mode::strict);
    const at::Tensor velocity = clip.run(*model);
    EXPECT_EQ(velocity.sizes(), clip.latents.sizes());
    expect_gradients(*model, velocity.square().mean());

    const auto state = model->initial_state(1);
    for (int64_t i = 0; i < 2; ++i) {
      const at::Tensor chunk = testing::part_of(clip.latents, config, i);
      EXPECT_TRUE(model->denoise(*state, chunk, clip.timesteps.select(1, i), clip.text).is_meta());
      model->write(*state, chunk, clip.text);
    }
  }
}

TEST_P(MetaDevice, TheTextEncoderRunsThere) {
  models::Umt5Config config;
  config.vocabulary = 64;
  config.model_dim = 16;
  config.attention_dim = 24;
  config.hidden_dim = 20;
  config.num_heads = 3;
  config.num_layers = 2;
  const auto model = make_on_meta<models::Umt5Encoder>(config);
  const at::Tensor ids = on_meta(testing::random_ids(2, 9));
  const Watch strict(Mode::strict);
  const at::Tensor tokens = model->forward(ids, at::ones_like(ids));
  EXPECT_EQ(tokens.sizes(), at::IntArrayRef({2, 9, 16}));
  expect_gradients(*model, tokens.mean());
}

TEST_P(MetaDevice, TheVideoCodecRunsThere) {
  const auto model = make_on_meta<models::Vae>(models::vae_tiny());
  const at::Tensor clip = at::empty({1, 3, 5, 16, 8}, c10::Device(c10::kMeta));
  const Watch strict(Mode::strict);
  const auto moments = model->encode(clip);
  const at::Tensor again = model->decode(moments.mean);
  EXPECT_EQ(again.sizes(), clip.sizes());
  expect_gradients(*model, again.mean() + moments.log_variance.mean());
}

}  // namespace lact
