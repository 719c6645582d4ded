#include "lact/models/nvs/model.h"

#include "lact/nn/init.h"
#include "lact/nn/linear.h"
#include "support/dependence.h"
#include "support/errors.h"
#include "support/gradients.h"
#include "support/limited_memory.h"
#include "support/tiny_nvs.h"
#include "support/watched_memory.h"

namespace lact::models {
namespace {

using lact::testing::difference;
using lact::testing::forward_of;
using lact::testing::make_nvs;
using lact::testing::make_precise_nvs;
using lact::testing::tiny_nvs;
using lact::testing::tiny_scene;
using lact::testing::TinyScene;

/// One view after the other from one state.
at::Tensor render_all(NvsModel& model, const NvsState& state, const TinyScene& views) {
  std::vector<at::Tensor> rendered;
  for (int64_t i = 0; i < views.images.size(0); ++i)
    rendered.push_back(model.render(state, views.intrinsics[i], views.camera_to_world[i],
                                    views.images.size(2), views.images.size(3)));
  return at::stack(rendered);
}

std::unique_ptr<NvsState> read(NvsModel& model, const TinyScene& inputs, int64_t piece_tokens = 1 << 20) {
  return model.reconstruct(inputs.list(), inputs.intrinsics, inputs.camera_to_world,
                           {.piece_tokens = piece_tokens});
}

/// The paper's model, the baselines, and the update rules that are compared with Muon.
std::vector<std::pair<std::string, NvsConfig>> all_mixers() {
  auto descent = tiny_nvs(), momentum = tiny_nvs(), heads = tiny_nvs(), squared = tiny_nvs();
  descent.lact.memory.update.muon = false;
  momentum.lact.memory.update.muon = false;
  momentum.lact.memory.update.momentum = true;
  heads.lact.memory.num_heads = 2;
  heads.lact.memory.update.norm_placement = ttt::NormPlacement::pre;
  squared.lact.memory.loss = "squared_error";
  auto points = tiny_nvs();
  points.ray_points = {.count = 3, .octaves = 2};
  auto pattern = tiny_nvs(MixerKind::mamba2);
  pattern.num_layers = 3;
  pattern.mixer = MixerPattern::parse("1 lact : 1 full : 1 mamba2");
  return {{"muon", tiny_nvs()},
          {"gradient descent", descent},
          {"momentum", momentum},
          {"two heads", heads},
          {"squared error", squared},
          {"full", tiny_nvs(MixerKind::full)},
          {"gla", tiny_nvs(MixerKind::gla)},
          {"deltanet", tiny_nvs(MixerKind::deltanet)},
          {"mamba2", tiny_nvs(MixerKind::mamba2)},
          {"perceiver", tiny_nvs(MixerKind::perceiver)},
          {"ray points", points},
          {"pattern", pattern}};
}

/// A recurrence passes over the views one after the other.
bool has_an_order(const NvsConfig& config) {
  const MixerPattern& mixer = config.mixer;
  return mixer.has(MixerKind::gla) || mixer.has(MixerKind::deltanet) || mixer.has(MixerKind::mamba2);
}

TEST(NvsModel, ReconstructAndRenderIsTheTrainingForward) {
  for (const auto& [name, config] : all_mixers()) {
    const auto model = make_precise_nvs(config);
    const TinyScene scene = tiny_scene(5, 8, 12, at::kDouble);
    const at::Tensor trained = forward_of(*model, scene, 2);
    const auto state = read(*model, scene.part(at::arange(3)));
    EXPECT_LT(difference(render_all(*model, *state, scene.part(at::arange(3, 5))), trained), 1e-9) << name;
  }
}

TEST(NvsModel, FloatAndBfloat16RenderTheSameWithinTheirPrecision) {
  for (const auto mixer : lact::testing::kNvsMixers) {
    // Enough tokens for the fused paths.
    const TinyScene scene = tiny_scene(5, 32, 32);
    auto precise = make_precise_nvs(tiny_nvs(mixer));
    const TinyScene wide = {scene.images.to(at::kDouble), scene.intrinsics.to(at::kDouble),
                            scene.camera_to_world.to(at::kDouble)};
    const at::Tensor expected = forward_of(*precise, wide, 2);
    auto model = make_nvs(tiny_nvs(mixer));
    for (const auto& [type, tolerance] : {std::pair{at::kFloat, 2e-4}, {at::kBFloat16, 8e-2}}) {
      model->set_compute_type(type);
      EXPECT_LT(difference(forward_of(*model, scene, 2), expected), tolerance);
      const auto state = read(*model, scene.part(at::arange(3)), 128);
      EXPECT_LT(difference(render_all(*model, *state, scene.part(at::arange(3, 5))), expected), tolerance);
    }
  }
}

TEST(NvsModel, PiecesGiveTheNumbersOfTheWhole) {
  for (const auto& [name, config] : all_mixers()) {
    const auto model = make_precise_nvs(config);
    const TinyScene scene = tiny_scene(6, 8, 8, at::kDouble);
    const TinyScene inputs = scene.part(at::arange(5)), target = scene.part(at::arange(5, 6));
    const at::Tensor whole = render_all(*model, *read(*model, inputs), target);
    for (const int64_t piece : {1, 4, 9, 12})  // a view has 4 tokens
      EXPECT_LT(difference(render_all(*model, *read(*model, inputs, piece), target), whole), 1e-9) << name;
  }
}

TEST(NvsModel, ViewsCanBeLoadedAPieceAtATime) {
  const auto model = make_nvs(tiny_nvs());
  const auto scene = tiny_scene(5, 8, 8);
  ReconstructOptions options;
  options.piece_tokens = 8;  // two views
  std::vector<int64_t> asked, done;
  options.on_piece = [&](int64_t count, int64_t total) {
    EXPECT_EQ(total, 3 * 2 * 2);
    done.push_back(count);
  };
  const auto load = [&](int64_t first, int64_t count) -> InputViews {
    for (int64_t i = first; i < first + count; ++i) asked.push_back(i);
    const auto part = scene.part(at::arange(first, first + count));
    return {part.list(), part.intrinsics, part.camera_to_world};
  };
  const std::vector<io::ImageSize> sizes(5, {8, 8});
  const auto state = model->reconstruct(sizes, load, options);
  EXPECT_EQ(asked, (std::vector<int64_t>{0, 1, 2, 3, 4}));
  ASSERT_EQ(done.size(), 12u);
  EXPECT_EQ(done.back(), 12);
  const auto whole = model->reconstruct(scene.list(), scene.intrinsics, scene.camera_to_world, options);
  const auto view = [&](const NvsState& from) {
    return model->render(from, scene.intrinsics[0], scene.camera_to_world[3], 8, 8);
  };
  EXPECT_TRUE(view(*state).equal(view(*whole)));

  const std::vector<io::ImageSize> other(5, {8, 12});
  EXPECT_SENTENCE(model->reconstruct(other, load), "image 0 has shape [3, 8, 8], expected [3, 8, 12]");
  const auto too_few = [&](int64_t first, int64_t) { return load(first, 1); };
  EXPECT_SENTENCE(model->reconstruct(sizes, too_few, options), "1 images were loaded, expected 2");
}

// Three branches per block are added up: the deeper the model, the smaller each begins.
// A memory that goes on is what a layer does with one write after the other, so one block tells it all: the
// second views are seen, the first are not forgotten, and pieces change nothing.
TEST(NvsModel, ViewsAreAddedToASceneThatWasRead) {
  for (const MixerKind mixer : {MixerKind::lact, MixerKind::full}) {
    const auto model = make_precise_nvs(tiny_nvs(mixer));
    const TinyScene scene = tiny_scene(5, 8, 12, at::kDouble);
    const auto views = [&](int64_t begin) -> LoadViews {
      return [&scene, begin](int64_t first, int64_t count) -> InputViews {
        const TinyScene part = scene.part(at::arange(begin + first, begin + first + count));
        return {part.list(), part.intrinsics, part.camera_to_world};
      };
    };
    const auto seen = [&](const NvsState& state) {
      return model->render(state, scene.intrinsics[4], scene.camera_to_world[4], 8, 12);
    };
    const std::vector<io::ImageSize> two(2, {8, 12});
    const auto state = model->reconstruct(two, views(0));
    const at::Tensor before = seen(*state);
    const auto same = state->clone();
    model->read_more(*state, two, views(2));
    const at::Tensor after = seen(*state);
    EXPECT_GT((after - before).abs().max().item<double>(), 1e-4);
    EXPECT_GT((after - seen(*model->reconstruct(two, views(2)))).abs().max().item<double>(), 1e-4);
    ReconstructOptions pieces;
    pieces.piece_tokens = 1;
    auto& again = dynamic_cast<NvsState&>(*same);
    model->read_more(again, two, views(2), pieces);
    EXPECT_TRUE(at::allclose(seen(again), after, 1e-9, 1e-9));
  }
  const auto model = make_nvs(tiny_nvs(MixerKind::gla));
  EXPECT_SENTENCE(model->read_more(*model->initial_state(), {{8, 12}}, {}),
                  "views can be added to a scene of lact or full alone");
}

TEST(NvsModel, BranchesOfDeepModelsBeginSmall) {
  for (const auto mixer : lact::testing::kNvsMixers) {
    for (const int64_t layers : {2, 4}) {
      NvsConfig config = tiny_nvs(mixer);
      config.num_layers = layers;
      at::manual_seed(3);
      const NvsModel model(config);
      const double expected = nn::kLinearStd / std::sqrt(3.0 * double(layers));
      int found = 0;
      for (const auto& item : model.named_parameters()) {
        const bool branch_end =
            item.key().ends_with(".output.weight") || item.key().ends_with("feed_forward.down.weight");
        if (!branch_end) continue;
        EXPECT_NEAR(item.value().std().item<double>() / expected, 1, 0.15) << item.key();
        ++found;
      }
      // Registers have a feed-forward of their own where they read.
      EXPECT_EQ(found, 3 * layers + (mixer == MixerKind::perceiver ? layers / 2 : 0));
    }
  }
}

TEST(NvsModel, TheOrderOfInputViewsDoesNotMatter) {
  for (const auto& [name, config] : all_mixers()) {
    if (has_an_order(config)) continue;
    const auto model = make_precise_nvs(config);
    const TinyScene scene = tiny_scene(5, 8, 8, at::kDouble);
    const TinyScene shuffled = scene.part(at::tensor({2, 0, 3, 1}, at::kLong));
    const TinyScene target = scene.part(at::arange(4, 5));
    const at::Tensor in_order = render_all(*model, *read(*model, scene.part(at::arange(4))), target);
    EXPECT_LT(difference(render_all(*model, *read(*model, shuffled), target), in_order), 1e-9) << name;
    EXPECT_LT(difference(forward_of(*model, scene.part(at::tensor({2, 0, 3, 1, 4}, at::kLong)), 1), in_order),
              1e-9)
        << name;
    // And they do matter.
    EXPECT_GT(difference(render_all(*model, *read(*model, scene.part(at::arange(3))), target), in_order),
              1e-6)
        << name;
  }
}

TEST(NvsModel, NovelViewsDoNotSeeEachOther) {
  for (const auto& [name, config] : all_mixers()) {
    const auto model = make_precise_nvs(config);
    const TinyScene scene = tiny_scene(5, 8, 8, at::kDouble);
    const at::Tensor both = forward_of(*model, scene, 2);
    const at::Tensor first = forward_of(*model, scene.part(at::arange(4)), 1);
    EXPECT_LT(difference(both.narrow(0, 0, 1), first), 1e-12) << name;
    const auto state = read(*model, scene.part(at::arange(3)));
    const at::Tensor once = render_all(*model, *state, scene.part(at::arange(3, 4)));
    render_all(*model, *state, scene.part(at::arange(4, 5)));
    EXPECT_TRUE(render_all(*model, *state, scene.part(at::arange(3, 4))).equal(once)) << name;
  }
}

TEST(NvsModel, AnyResolutionIsRendered) {
  const auto model = make_nvs(tiny_nvs());
  const TinyScene scene = tiny_scene(3, 8, 8);
  const auto state = read(*model, scene);
  EXPECT_EQ(model->render(*state, scene.intrinsics[0], scene.camera_to_world[0], 16, 4).sizes(),
            at::IntArrayRef({3, 16, 4}));
}

TEST(NvsModel, InputViewsMayHaveDifferentSizes) {
  for (const auto mixer : lact::testing::kNvsMixers) {
    const bool ordered = has_an_order(tiny_nvs(mixer));
    const auto model = make_precise_nvs(tiny_nvs(mixer));
    const TinyScene scene = tiny_scene(4, 8, 8, at::kDouble), other = tiny_scene(4, 4, 12, at::kDouble);
    const auto views = [&](const std::vector<int64_t>& order, const ReconstructOptions& options = {}) {
      std::vector<at::Tensor> images, intrinsics, poses;
      for (const int64_t i : order) {
        const TinyScene& from = i % 2 == 0 ? scene : other;
        images.push_back(from.images[i]);
        intrinsics.push_back(from.intrinsics[i]);
        poses.push_back(from.camera_to_world[i]);
      }
      const auto state = model->reconstruct(images, at::stack(intrinsics), at::stack(poses), options);
      return render_all(*model, *state, scene.part(at::arange(1)));
    };
    EXPECT_LT(difference(views({0, 2, 1, 3}), views({0, 2, 1, 3}, {.piece_tokens = 1})), 1e-9);
    if (ordered) continue;
    EXPECT_LT(difference(views({0, 1, 2, 3}), views({0, 2, 1, 3})), 1e-9);
  }
}

TEST(NvsModel, RecomputeChangesNoGradient) {
  for (const auto mixer : lact::testing::kNvsMixers) {
    const auto model = make_precise_nvs(tiny_nvs(mixer));
    const TinyScene scene = tiny_scene(4, 8, 8, at::kDouble);
    const auto gradients = [&](nn::Recompute recompute) {
      model->set_recompute(recompute);
      model->zero_grad();
      forward_of(*model, scene, 2).square().sum().backward();
      std::vector<at::Tensor> all;
      for (const auto& parameter : model->parameters()) {
        EXPECT_TRUE(parameter.grad().defined());
        all.push_back(parameter.grad().clone());
      }
      return all;
    };
    const auto kept = gradients(nn::Recompute::none);
    for (const auto what : {nn::Recompute::cheap, nn::Recompute::memory, nn::Recompute::blocks}) {
      const auto again = gradients(what);
      for (size_t i = 0; i < kept.size(); ++i) EXPECT_LT(difference(again[i], kept[i]), 1e-9);
    }
  }
}

TEST(NvsModel, RecomputingWhatIsCheapKeepsLess) {
  const auto model = make_nvs(tiny_nvs());
  const TinyScene scene = tiny_scene(4, 32, 32);
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    model->set_compute_type(type);
    const auto kept_bytes = [&](nn::Recompute what) {
      model->set_recompute(what);
      const lact::testing::WatchedMemory memory;
      const at::Tensor out = forward_of(*model, scene, 2);
      return double(memory.live_bytes());
    };
    const double none = kept_bytes(nn::Recompute::none), cheap = kept_bytes(nn::Recompute::cheap),
                 blocks = kept_bytes(nn::Recompute::blocks);
    EXPECT_LT(cheap, 0.85 * none);
    EXPECT_LT(blocks, 0.5 * cheap);
  }
}

// Who can know of whom: the pixels of an input view reach every target; a target's rays reach itself alone.
TEST(NvsModel, InformationFlowsFromInputsToTargetsOnly) {
  for (const auto mixer : lact::testing::kNvsMixers) {
    const auto model = make_precise_nvs(tiny_nvs(mixer));
    const TinyScene scene = tiny_scene(4, 8, 8, at::kDouble);
    const at::Tensor images = scene.images.narrow(0, 0, 2).unsqueeze(0), rays = scene.rays().unsqueeze(0);
    const auto of_images = [&](const at::Tensor& x) {
      return model->forward(x, rays.narrow(1, 0, 2), rays.narrow(1, 2, 2));
    };
    lact::testing::expect_same_mask(lact::testing::measured_dependence(of_images, images, 1),
                                    at::ones({2, 2}, at::kBool), "targets on input images");
    const auto of_rays = [&](const at::Tensor& x) { return model->forward(images, rays.narrow(1, 0, 2), x); };
    lact::testing::expect_same_mask(
        lact::testing::measured_dependence(of_rays, rays.narrow(1, 2, 2).contiguous(), 1),
        at::eye(2, at::kLong).to(at::kBool), "targets on target rays");
  }
}

TEST(NvsModel, BatchesAreIndependent) {
  const auto model = make_precise_nvs(tiny_nvs());
  const TinyScene a = tiny_scene(4, 8, 8, at::kDouble), b = tiny_scene(4, 8, 8, at::kDouble);
  const at::Tensor images = at::stack({a.images, b.images}).narrow(1, 0, 3);
  const at::Tensor rays = at::stack({a.rays(), b.rays()});
  const at::Tensor both = model->forward(images, rays.narrow(1, 0, 3), rays.narrow(1, 3, 1));
  EXPECT_LT(difference(both[1], forward_of(*model, b, 1)), 1e-9);
}

TEST(NvsModel, MistakesAreSentences) {
  const auto model = make_nvs(tiny_nvs());
  const TinyScene scene = tiny_scene(3, 8, 8);
  EXPECT_SENTENCE(forward_of(*model, tiny_scene(3, 8, 10), 1),
                  "8 x 10 pixels does not divide into patches of 4");
  EXPECT_SENTENCE(model->reconstruct({}, scene.intrinsics, scene.camera_to_world), "no input views");
  EXPECT_SENTENCE(model->reconstruct(scene.list(), scene.intrinsics.narrow(0, 0, 2), scene.camera_to_world),
                  "the intrinsics have shape [2, 4], expected [3, 4]");
  EXPECT_SENTENCE(
      model->reconstruct({at::zeros({4, 8, 8})}, scene.intrinsics.narrow(0, 0, 1), scene.camera_to_world),
      "image 0 has shape [4, 8, 8]");
  const auto state = read(*model, scene);
  EXPECT_SENTENCE(model->render(*state, scene.intrinsics[0], scene.camera_to_world[0], 9, 8), "9 x 8 pixels");
  const at::Tensor rays = scene.rays().unsqueeze(0);
  EXPECT_SENTENCE(model->forward(scene.images.unsqueeze(0), rays.narrow(1, 0, 2), rays),
                  "the input rays have shape [1, 2, 9, 8, 8], expected [1, 3, 9, 8, 8]");
}

TEST(NvsModel, AViewThatNoMemoryHoldsIsASentence) {
#if defined(__SANITIZE_ADDRESS__)  // whose memory cannot be limited: it would take the machine's
  GTEST_SKIP() << "memory is not limited under AddressSanitizer";
#endif
  const auto model = make_nvs(tiny_nvs());
  const TinyScene scene = tiny_scene(2, 8, 8);
  const auto state = model->reconstruct(scene.list(), scene.intrinsics, scene.camera_to_world);
  const lact::testing::LimitedMemory limited(uint64_t(512) << 20);
  EXPECT_SENTENCE(model->render(*state, scene.intrinsics[0], scene.camera_to_world[0], 16384, 16384),
                  "not enough memory for a view of 16384 x 16384 pixels (");
}

}  // namespace
}  // namespace lact::models
