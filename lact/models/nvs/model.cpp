#include "lact/models/nvs/model.h"

#include <ATen/ATen.h>

#include <cmath>

#include "lact/base/error.h"
#include "lact/base/out_of_memory.h"
#include "lact/base/profile.h"
#include "lact/mixers/sharding.h"
#include "lact/models/common/weights_fit.h"
#include "lact/nn/init.h"
#include "lact/nn/patches.h"
#include "lact/ops/dispatch/dtypes.h"
#include "lact/ops/images/rays.h"

namespace lact::models {

/// Consecutive views of one size: their tokens pass through a layer together.
struct InputPiece {
  int64_t first = 0, count = 0;
  io::ImageSize size = {};
  at::Tensor x = {};  ///< [1, T, M]

  /// Its memory is written by itself.
  SequenceLayout layout() const { return views_layout(0, count, x.size(1) / count); }
};

namespace {

/// Rays and colours of input views, the colours in [-1, 1].
at::Tensor posed(const at::Tensor& rays, const at::Tensor& images) {
  return at::cat({rays, images * 2 - 1}, -3);
}

std::vector<InputPiece> pieces_of(const std::vector<io::ImageSize>& sizes, int64_t patch,
                                  int64_t piece_tokens) {
  std::vector<InputPiece> pieces;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t tokens = nn::patches_of(sizes[i].height, sizes[i].width, patch);
    const bool fits = !pieces.empty() && pieces.back().size == sizes[i] &&
                      (pieces.back().count + 1) * tokens <= piece_tokens;
    if (!fits) pieces.push_back({int64_t(i), 0, sizes[i]});
    ++pieces.back().count;
  }
  return pieces;
}

void check_input_image(const at::Tensor& image, int64_t index) {
  LACT_CHECK(image.dim() == 3 && image.size(0) == kColorChannels && image.is_floating_point(),
             "[nvs] image {} has shape {} and type {}, expected [3, H, W] of floating point numbers", index,
             image.sizes().vec(), toString(image.scalar_type()));
}

void check_views(const at::Tensor& images, const at::Tensor& input_rays, const at::Tensor& target_rays) {
  LACT_CHECK(images.dim() == 5 && images.size(2) == kColorChannels,
             "[nvs] the input images have shape {}, expected [B, V, 3, H, W]", images.sizes().vec());
  const auto check_rays = [&](const char* name, const at::Tensor& rays, int64_t views) {
    const std::vector<int64_t> expected = {images.size(0), views, kRayChannels, images.size(3),
                                           images.size(4)};
    LACT_CHECK(rays.sizes() == expected, "[nvs] the {} rays have shape {}, expected {}", name,
               rays.sizes().vec(), expected);
  };
  check_rays("input", input_rays, images.size(1));
  check_rays("target", target_rays, target_rays.dim() == 5 ? target_rays.size(1) : 1);
}

/// The views [B, V, ...] that this rank holds; `all` are the tokens of them all.
at::Tensor own_views(const at::Tensor& views, const Sharding* sharding, Range all, int64_t tokens) {
  if (sharding == nullptr) return views;
  std::vector<at::Tensor> own = {views.narrow(1, 0, 0)};
  for (const auto& range : intersect(sharding->own(), {all})) {
    own.push_back(views.narrow(1, (range.begin - all.begin) / tokens, range.size() / tokens));
  }
  return at::cat(own, 1);
}

}  // namespace

void NvsState::visit(StateVisitor& visitor, const std::string& prefix) {
  for (size_t i = 0; i < memories.size(); ++i)
    memories[i]->visit(visitor, shared ? prefix : fmt::format("{}blocks.{}.", prefix, i));
}

std::unique_ptr<State> NvsState::clone() const {
  auto copy = std::make_unique<NvsState>();
  copy->memories = clone_all(memories);
  copy->shared = shared;
  return copy;
}

NvsModel::NvsModel(const NvsConfig& config) : config_(config) {
  config.check();
  check_parameters(cost(config));
  const int64_t width = config.model_dim;
  input_ = register_module("input", std::make_shared<nn::Linear>(config.input_channels(), width, false));
  input_norm_ = register_module("input_norm", std::make_shared<nn::Norm>(width, config.norm));
  if (config.mixer == MixerKind::perceiver) {
    registers_ =
        register_module("registers", std::make_shared<perceiver::Registers>(width, config.perceiver));
  }
  for (int64_t i = 0; i < config.num_layers; ++i) {
    blocks_.push_back(register_module(
        fmt::format("block{}", i), nn::given_to_lender(std::make_shared<NvsBlock>(config, i, registers_))));
  }
  decoder_norm_ = register_module("decoder_norm", std::make_shared<nn::Norm>(width, config.norm));
  decoder_ = register_module("decoder", std::make_shared<nn::Linear>(width, config.output_channels(), false));
  // The sum of all residual branches begins as large as one of them.
  const double std = nn::kLinearStd / std::sqrt(3.0 * double(config.num_layers));
  for (const auto& item : named_parameters()) {
    const std::string& name = item.key();
    if (name.ends_with(".output.weight") || name.ends_with("feed_forward.down.weight")) {
      nn::init_normal(item.value(), std);
    }
  }
}

void NvsModel::set_world(const parallel::World& world) {
  lact::check_heads(*this, world);
  world_ = world;
}

void NvsModel::set_recompute(nn::Recompute what) {
  recompute_ = lender_ ? nn::Recompute::blocks : what;
  nn::set_recompute_below(*this, recompute_);
}

at::Tensor NvsModel::embed(const at::Tensor& views) const {
  const profile::Scope part("embedding");
  at::Tensor pixels = views;
  if (views.size(2) == kRayChannels) {
    auto blank = views.sizes().vec();
    blank[2] = kColorChannels;
    pixels = at::cat({views, at::zeros(blank, views.options())}, 2);
  }
  const at::Tensor patches = nn::patchify(pixels, config_.patch_size).to(input_->weight.options());
  return input_norm_->forward(input_->forward(patches)).to(compute_type_);
}

at::Tensor NvsModel::decode(const at::Tensor& x) const {
  const profile::Scope part("decoder");
  return at::sigmoid(ops::at_least_float(decoder_->forward(decoder_norm_->forward(x))));
}

at::Tensor NvsModel::forward(const at::Tensor& images, const at::Tensor& input_rays,
                             const at::Tensor& target_rays) {
  check_views(images, input_rays, target_rays);
  const int64_t inputs = images.size(1), targets = target_rays.size(1), height = images.size(3),
                width = images.size(4);
  const int64_t tokens = nn::patches_of(height, width, config_.patch_size);
  const Range input_tokens = {0, inputs * tokens},
              target_tokens = {inputs * tokens, (inputs + targets) * tokens};
  SequenceLayout layout = share_out(views_layout(inputs, targets, tokens), world_);
  const auto sharding = layout.sharding;
  const at::Tensor written = own_views(posed(input_rays, images), sharding.get(), input_tokens, tokens),
                   read = own_views(target_rays, sharding.get(), target_tokens, tokens);
  at::Tensor x = at::cat({embed(written), embed(read)}, 1);
  if (registers_) x = at::cat({registers_->forward(x.size(0)).to(x.scalar_type()), x}, 1);
  const int64_t own = read.size(1) * tokens;
  const auto of_targets = [&] { return x.narrow(1, x.size(1) - own, own); };
  for (int64_t i = 0; i < config_.num_layers; ++i) {
    if (i == config_.writing_layers()) {  // nothing of the inputs goes further
      x = at::cat({x.narrow(1, 0, config_.perceiver.registers), of_targets()}, 1);
      layout = share_out(views_layout(0, targets, tokens), world_);
    }
    const auto run = [block = blocks_[size_t(i)], layout](const at::Tensor& input) {
      return block->pass(input, layout);
    };
    x = recompute_ == nn::Recompute::blocks ? nn::recompute(run, x, {lender_, blocks_[size_t(i)]}) : run(x);
  }
  const at::Tensor colours = decode(of_targets());
  return nn::unpatchify(sharding ? sharding->put_together(colours, target_tokens) : colours, targets, height,
                        width, config_.patch_size)
      .to(images.device());
}

std::unique_ptr<NvsState> NvsModel::reconstruct(const std::vector<at::Tensor>& images,
                                                const at::Tensor& intrinsics,
                                                const at::Tensor& camera_to_world,
                                                const ReconstructOptions& options) {
  at::NoGradGuard no_grad;
  const auto views = int64_t(images.size());
  LACT_CHECK(views > 0, "[nvs] there are no input views, expected at least 1");
  LACT_CHECK(intrinsics.dim() == 2 && intrinsics.size(0) == views,
             "[nvs] the intrinsics have shape {}, expected [{}, 4]", intrinsics.sizes().vec(), views);
  std::vector<io::ImageSize> sizes;
  for (int64_t i = 0; i < views; ++i) {
    check_input_image(images[size_t(i)], i);
    sizes.push_back({images[size_t(i)].size(1), images[size_t(i)].size(2)});
  }
  const auto range = [&](int64_t first, int64_t count) -> InputViews {
    return {{images.begin() + first, images.begin() + first + count},
            intrinsics.narrow(0, first, count),
            camera_to_world.narrow(0, first, count)};
  };
  return reconstruct(sizes, range, options);
}

at::Tensor NvsModel::embed_inputs(const InputViews& views, int64_t first, const io::ImageSize& size) const {
  for (size_t i = 0; i < views.images.size(); ++i) {
    const int64_t index = first + int64_t(i);
    check_input_image(views.images[i], index);
    LACT_CHECK(views.images[i].size(1) == size.height && views.images[i].size(2) == size.width,
               "[nvs] image {} has shape {}, expected [3, {}, {}]", index, views.images[i].sizes().vec(),
               size.height, size.width);
  }
  const at::Tensor rays = ops::plucker_rays(views.intrinsics, views.camera_to_world, size.height, size.width);
  return embed(posed(rays, at::stack(views.images).to(rays.scalar_type())).unsqueeze(0));
}

std::unique_ptr<NvsState> NvsModel::reconstruct(const std::vector<io::ImageSize>& sizes,
                                                const LoadViews& load, const ReconstructOptions& options) {
  auto state = initial_state();
  write_views(*state, sizes, load, options);
  return state;
}

void NvsModel::read_more(NvsState& state, const std::vector<io::ImageSize>& sizes, const LoadViews& load,
                         const ReconstructOptions& options) {
  for (int64_t i = 0; i < config_.num_layers; ++i) {
    const MixerKind kind = config_.mixer.kind_of(i);
    LACT_CHECK(kind == MixerKind::lact || kind == MixerKind::full,
               "[nvs] the mixer is {}: views can be added to a scene of lact or full alone",
               config_.mixer.text());
  }
  write_views(state, sizes, load, options);
}

void NvsModel::write_views(NvsState& state, const std::vector<io::ImageSize>& sizes, const LoadViews& load,
                           const ReconstructOptions& options) {
  at::NoGradGuard no_grad;
  LACT_CHECK(!sizes.empty(), "[nvs] there are no input views, expected at least 1");
  // Ranks share the views; each sees its own and the memory of all.
  const auto count = int64_t(sizes.size());
  const parallel::Group& ranks = world_.context;
  LACT_CHECK(
      ranks.size() == world_.mesh.ranks() && count >= ranks.size(),
      "[nvs] {} views are shared out by a mesh of context, a view at least for each rank, but the mesh is {}",
      count, parallel::to_string(world_.mesh));
  const int64_t first = count * ranks.rank() / ranks.size(), end = count * (ranks.rank() + 1) / ranks.size();
  std::vector<InputPiece> pieces =
      pieces_of({sizes.begin() + first, sizes.begin() + end}, config_.patch_size, options.piece_tokens);
  for (auto& piece : pieces) piece.first += first;
  const std::string scene = fmt::format("a scene of {} views", sizes.size());
  // A piece is embedded once, written into each layer, and goes through each layer but the last. No view is
  // rendered from there, and nothing of the inputs goes further.
  const int64_t layers = config_.writing_layers();
  const int64_t total = 2 * layers * int64_t(pieces.size());
  int64_t done = 0;
  const std::function<void()> piece_done = [&] {
    if (options.on_piece) options.on_piece(++done, total);
  };
  for (auto& piece : pieces) {
    const InputViews views = load(piece.first, piece.count);
    LACT_CHECK(int64_t(views.images.size()) == piece.count, "[nvs] {} images were loaded, expected {}",
               views.images.size(), piece.count);
    piece.x = making(scene, [&] { return embed_inputs(views, piece.first, piece.size); });
    piece_done();
  }
  for (int64_t i = 0; i < layers; ++i) {
    if (options.on_layer) options.on_layer(i, layers);
    const auto index = size_t(i);
    making(scene,
           [&] { read_layer(*blocks_[index], pieces, state.of_block(index), i + 1 == layers, piece_done); });
  }
}

void NvsModel::read_layer(NvsBlock& block, std::vector<InputPiece>& pieces, State& memory, bool last,
                          const std::function<void()>& piece_done) const {
  const auto each = [&](const auto& make) {
    for (auto& piece : pieces) {
      piece.x = make(piece);
      piece_done();
    }
  };
  if (block.takes_pieces()) {
    each([&](const InputPiece& piece) { return block.collect(piece.x, piece.layout(), memory); });
    block.write_collected(memory, world_.context);
    if (last) return;
    each([&](const InputPiece& piece) {
      SequenceLayout layout = piece.layout();
      layout.window = {};  // the memory holds these tokens already
      return block.recall(piece.x, layout, memory);
    });
    return;
  }
  LACT_CHECK(world_.context.alone(),
             "[nvs] this model's memory takes all views at once: it reads a scene on one process");
  each([&](const InputPiece& piece) { return block.look(piece.x, piece.layout()); });
  std::vector<at::Tensor> all;
  for (const auto& piece : pieces) all.push_back(piece.x);
  const at::Tensor known = block.remember(at::cat(all, 1), memory);
  if (last) return;
  int64_t begin = 0;
  each([&](const InputPiece& piece) {
    const at::Tensor part = known.narrow(1, begin, piece.x.size(1));
    begin += piece.x.size(1);
    return block.think(part);
  });
}

at::Tensor NvsModel::render(const NvsState& state, const at::Tensor& intrinsics,
                            const at::Tensor& camera_to_world, int64_t height, int64_t width) {
  at::NoGradGuard no_grad;
  LACT_ASSERT(state.memories.size() == (registers_ ? 1 : blocks_.size()));
  LACT_CHECK(intrinsics.dim() == 1, "[nvs] the intrinsics of a view have shape {}, expected [4]",
             intrinsics.sizes().vec());
  const int64_t tokens = nn::patches_of(height, width, config_.patch_size);
  return making(fmt::format("a view of {} x {} pixels", width, height), [&] {
    const at::Tensor rays = ops::plucker_rays(intrinsics, camera_to_world, height, width);
    at::Tensor x = embed(rays.unsqueeze(0).unsqueeze(0));
    const SequenceLayout layout = views_layout(0, 1, tokens);
    for (size_t i = 0; i < blocks_.size(); ++i) x = blocks_[i]->render(x, layout, state.of_block(i));
    return nn::unpatchify(decode(x), 1, height, width, config_.patch_size)[0][0].to(intrinsics.device());
  });
}

std::unique_ptr<NvsState> NvsModel::initial_state(int64_t batch) {
  auto state = std::make_unique<NvsState>();
  state->shared = registers_ != nullptr;
  for (const auto& block : blocks_) {
    if (state->memories.empty() || !state->shared) state->memories.push_back(block->initial_memory(batch));
  }
  return state;
}

}  // namespace lact::models
