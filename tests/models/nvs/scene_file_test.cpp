#include "lact/models/nvs/scene_file.h"

#include <filesystem>

#include "lact/io/safetensors.h"
#include "lact/models/nvs/folder.h"
#include "support/errors.h"
#include "support/temporary_folder.h"
#include "support/tiny_nvs.h"

namespace lact::models {
namespace {

using lact::testing::make_nvs;
using lact::testing::TemporaryFolder;
using lact::testing::tiny_nvs;
using lact::testing::tiny_scene;
using lact::testing::TinyScene;

NvsScene scene_of(NvsModel& model, const TinyScene& views) {
  NvsScene scene;
  scene.state = model.reconstruct(views.list(), views.intrinsics, views.camera_to_world);
  scene.intrinsics = views.intrinsics;
  scene.camera_to_world = views.camera_to_world;
  scene.sizes.assign(size_t(views.images.size(0)), {views.images.size(2), views.images.size(3)});
  return scene;
}

TEST(SceneFile, RendersAsBefore) {
  auto momentum = tiny_nvs();
  momentum.lact.memory.update.momentum = true;
  for (const auto& config : {tiny_nvs(), tiny_nvs(MixerKind::full), tiny_nvs(MixerKind::mamba2),
                             tiny_nvs(MixerKind::deltanet), tiny_nvs(MixerKind::perceiver), momentum}) {
    const TemporaryFolder folder;
    const auto model = make_nvs(config);
    const std::string hash = fingerprint(*model);
    const TinyScene views = tiny_scene(3, 8, 12);
    const NvsScene scene = scene_of(*model, views);
    save_scene(folder / "scene.fw", scene, hash);
    const NvsScene loaded = load_scene(folder / "scene.fw", *model, hash);
    EXPECT_TRUE(loaded.intrinsics.equal(views.intrinsics));
    EXPECT_TRUE(loaded.camera_to_world.equal(views.camera_to_world));
    EXPECT_EQ(loaded.sizes, scene.sizes);
    const auto view = [&](const NvsScene& from) {
      return model->render(*from.state, views.intrinsics[1], views.camera_to_world[2], 8, 8);
    };
    EXPECT_TRUE(view(loaded).equal(view(scene)));
  }
}

TEST(SceneFile, FastWeightsAndRegistersDoNotGrowWithTheViews) {
  for (const auto mixer :
       {MixerKind::lact, MixerKind::gla, MixerKind::deltanet, MixerKind::mamba2, MixerKind::perceiver}) {
    const TemporaryFolder folder;
    const auto model = make_nvs(tiny_nvs(mixer));
    const auto bytes = [&](int64_t views) {
      save_scene(folder / "scene.fw", scene_of(*model, tiny_scene(views, 8, 8)), "x");
      return std::filesystem::file_size(folder / "scene.fw");
    };
    // A camera more: 4 + 16 numbers, height and width.
    EXPECT_LE(bytes(9) - bytes(2), 7u * (20 * 4 + 2 * 8) + 16);
  }
}

TEST(SceneFile, KeepsTheWorldAndTheWayToItsModel) {
  const TemporaryFolder folder;
  const std::string path = folder / "scene.fw";
  const auto model = make_nvs(tiny_nvs());
  const std::string hash = fingerprint(*model);
  NvsScene scene = scene_of(*model, tiny_scene(2, 8, 8));
  scene.world_to_scene = {{{0, 1, 0, 1.0 / 3}, {0, 0, 1, 2}, {1, 0, 0, 1e-7}, {0, 0, 0, 1}}};
  scene.scale = 1.0 / 7;
  scene.model_path = "/a/model";
  save_scene(path, scene, hash);
  const NvsScene loaded = load_scene(path, *model, hash);
  EXPECT_EQ(loaded.world_to_scene, scene.world_to_scene);
  EXPECT_EQ(loaded.scale, scene.scale);
  EXPECT_EQ(loaded.model_path, "/a/model");
  EXPECT_EQ(read_scene_origin(path).model_hash, hash);
  EXPECT_EQ(read_scene_origin(path).model_path, "/a/model");

  auto file = io::read_safetensors(path);
  file.tensors["frame.scale"] = at::zeros({1}, at::kDouble);
  io::write_safetensors(path, file);
  EXPECT_SENTENCE(load_scene(path, *model, hash), "frame.scale is 0, expected a number above 0");
  file.metadata["kind"] = "something";
  io::write_safetensors(path, file);
  EXPECT_SENTENCE(read_scene_origin(path), "is not a scene");
}

TEST(SceneFile, MistakesAreSentences) {
  const TemporaryFolder folder;
  const std::string path = folder / "scene.fw";
  const auto model = make_nvs(tiny_nvs());
  const std::string hash = fingerprint(*model);
  save_scene(path, scene_of(*model, tiny_scene(3, 8, 8)), hash);
  const auto other = make_nvs(tiny_nvs(), 99);
  EXPECT_SENTENCE(load_scene(path, *other, fingerprint(*other)), "was made by another model");

  const auto file = io::read_safetensors(path);
  const auto with = [&](auto change) {
    auto changed = file;
    change(changed);
    io::write_safetensors(path, changed);
  };
  const std::string weights = "blocks.1.weights0";
  ASSERT_EQ(file.tensors.count(weights), 1u);
  with([&](auto& all) { all.tensors.erase(weights); });
  EXPECT_SENTENCE(load_scene(path, *model, hash), "tensor blocks.1.weights0 is missing");
  with([&](auto& all) { all.tensors[weights] = at::ones({2, 2}); });
  EXPECT_SENTENCE(load_scene(path, *model, hash), "has shape [2, 2]");
  with([&](auto& all) { all.tensors[weights] = at::full_like(file.tensors.at(weights), std::nan("")); });
  EXPECT_SENTENCE(load_scene(path, *model, hash), "finite numbers");
  with([&](auto& all) { all.tensors["more"] = at::ones({1}); });
  EXPECT_SENTENCE(load_scene(path, *model, hash), "not part of a scene of this model");
  with([&](auto& all) { all.tensors["cameras.intrinsics"] = at::ones({2, 4}); });
  EXPECT_SENTENCE(load_scene(path, *model, hash), "cameras.intrinsics has shape [2, 4], expected [3, 4]");
  with([&](auto& all) { all.tensors["cameras.sizes"] = at::full({3, 2}, -8, at::kLong); });
  EXPECT_SENTENCE(load_scene(path, *model, hash), "view 0 is -8 x -8 pixels");
  with([&](auto& all) { all.tensors["cameras.sizes"] = at::ones({3}); });
  EXPECT_SENTENCE(load_scene(path, *model, hash), "a height and a width for each view");
  with([&](auto& all) { all.metadata["kind"] = "lact language model memory"; });
  EXPECT_SENTENCE(load_scene(path, *model, hash), "is not a scene");
  with([&](auto& all) { all.metadata["format"] = "2"; });
  EXPECT_SENTENCE(load_scene(path, *model, hash), "has format 2, expected 1");
  lact::testing::write_file(path, "nothing");
  EXPECT_SENTENCE(load_scene(path, *model, hash), path);
  auto scene = scene_of(*model, tiny_scene(3, 8, 8));
  scene.sizes.pop_back();
  EXPECT_SENTENCE(save_scene(path, scene, hash), "for 2 views");
}

}  // namespace
}  // namespace lact::models
