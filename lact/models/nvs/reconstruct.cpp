// Reading a scene: a layer at a time, and in each layer a piece of the views at a time.
#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/base/out_of_memory.h"
#include "lact/models/nvs/gaussian_scene.h"
#include "lact/models/nvs/model.h"
#include "lact/nn/patches.h"
#include "lact/ops/images/rays.h"

namespace lact::models {

/// Consecutive views of one size: their tokens pass through a layer together.
struct InputPiece {
  int64_t first = 0, count = 0;
  io::ImageSize size = {};
  at::Tensor x = {};  ///< [1, T, M]
  at::Tensor intrinsics = {}, camera_to_world = {};

  /// Its memory is written by itself.
  SequenceLayout layout() const { return views_layout(0, count, x.size(1) / count); }
};

namespace {

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

}  // namespace

std::unique_ptr<NvsState> NvsModel::reconstruct(const std::vector<io::ImageSize>& sizes,
                                                const LoadViews& load, const ReconstructOptions& options) {
  at::NoGradGuard no_grad;
  auto state = initial_memories(1);
  const std::vector<InputPiece> pieces = write_views(*state, sizes, load, options);
  if (!config_.has_gaussians()) return state;
  if (!head_reads_inputs())
    return gaussian_scene({look_virtually(*state, pieces, sizes)}, config_.gaussians, {});
  std::vector<ops::Gaussians> parts;
  for (const InputPiece& piece : pieces)
    parts.push_back(gaussians_of(decode(piece.x), piece.intrinsics.unsqueeze(0),
                                 piece.camera_to_world.unsqueeze(0), piece.size));
  return gaussian_scene(parts, config_.gaussians, world_.context);
}

ops::Gaussians NvsModel::look_virtually(const NvsState& memories, const std::vector<InputPiece>& pieces,
                                        const std::vector<io::ImageSize>& sizes) const {
  std::vector<at::Tensor> own_intrinsics, own_poses;
  for (const InputPiece& piece : pieces) {
    own_intrinsics.push_back(piece.intrinsics);
    own_poses.push_back(piece.camera_to_world);
  }
  const at::Tensor intrinsics = world_.context.gather_rows(at::cat(own_intrinsics), "gathering cameras"),
                   poses = world_.context.gather_rows(at::cat(own_poses), "gathering cameras");
  std::vector<ops::Gaussians> seen;
  const at::Tensor chosen = virtual_views(int64_t(sizes.size()));
  for (int64_t i = 0; i < chosen.size(0); ++i) {
    const auto view = chosen[i].item<int64_t>();
    const io::ImageSize& size = sizes[size_t(view)];
    const at::Tensor x =
        look(memories, ops::plucker_rays(intrinsics[view], poses[view], size.height, size.width));
    seen.push_back(gaussians_of(decode(x), intrinsics.narrow(0, view, 1).unsqueeze(0),
                                poses.narrow(0, view, 1).unsqueeze(0), size));
  }
  ops::Gaussians all = seen.front();
  for (size_t field = 0; field < all.fields().size(); ++field) {
    std::vector<at::Tensor> parts;
    for (const auto& one : seen) parts.push_back(*one.fields()[field]);
    *all.fields()[field] = at::cat(parts, 1);
  }
  return all;
}

void NvsModel::read_more(NvsState& state, const std::vector<io::ImageSize>& sizes, const LoadViews& load,
                         const ReconstructOptions& options) {
  LACT_CHECK(!config_.has_gaussians(),
             "[nvs] the scene is Gaussians: more views need a reading of all of them");
  for (int64_t i = 0; i < config_.num_layers; ++i) {
    const MixerKind kind = config_.mixer.kind_of(i);
    LACT_CHECK(kind == MixerKind::lact || kind == MixerKind::full,
               "[nvs] the mixer is {}: views can be added to a scene of lact or full alone",
               config_.mixer.text());
  }
  write_views(state, sizes, load, options);
}

std::vector<InputPiece> NvsModel::write_views(NvsState& state, const std::vector<io::ImageSize>& sizes,
                                              const LoadViews& load, const ReconstructOptions& options) {
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
  // A piece is embedded once, written into each layer, and goes through each layer; through the last one only
  // if it becomes Gaussians. No view is rendered from there, and nothing of the inputs goes further.
  const int64_t layers = config_.writing_layers();
  const bool to_the_end = head_reads_inputs();
  const int64_t total = (2 * layers + (to_the_end ? 1 : 0)) * int64_t(pieces.size());
  int64_t done = 0;
  const std::function<void()> piece_done = [&] {
    if (options.on_piece) options.on_piece(++done, total);
  };
  for (auto& piece : pieces) {
    const InputViews views = load(piece.first, piece.count);
    LACT_CHECK(int64_t(views.images.size()) == piece.count, "[nvs] {} images were loaded, expected {}",
               views.images.size(), piece.count);
    piece.x = making(scene, [&] { return embed_inputs(views, piece.first, piece.size); });
    piece.intrinsics = views.intrinsics;
    piece.camera_to_world = views.camera_to_world;
    piece_done();
  }
  for (int64_t i = 0; i < layers; ++i) {
    if (options.on_layer) options.on_layer(i, layers);
    const auto index = size_t(i);
    const bool read_back = to_the_end || i + 1 < layers;
    making(scene, [&] { read_layer(*blocks_[index], pieces, state.of_block(index), read_back, piece_done); });
  }
  return pieces;
}

void NvsModel::read_layer(NvsBlock& block, std::vector<InputPiece>& pieces, State& memory, bool read_back,
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
    if (!read_back) return;
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
  if (!read_back) return;
  int64_t begin = 0;
  each([&](const InputPiece& piece) {
    const at::Tensor part = known.narrow(1, begin, piece.x.size(1));
    begin += piece.x.size(1);
    return block.think(part);
  });
}

}  // namespace lact::models
