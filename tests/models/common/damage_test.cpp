// Damaged configs, weights, memories and scenes.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "lact/models/lm/folder.h"
#include "lact/models/lm/memory_file.h"
#include "lact/models/nvs/folder.h"
#include "lact/models/nvs/scene_file.h"
#include "support/damage.h"
#include "support/temporary_folder.h"
#include "support/tiny_lm.h"
#include "support/tiny_nvs.h"

namespace lact::models {
namespace {

using lact::testing::expect_values_or_sentences;
using lact::testing::read_file;
using lact::testing::TemporaryFolder;
using lact::testing::write_file;

constexpr int kCases = 200;

/// Reads with file `name` of the folder damaged in many ways, one at a time.
template <class Read>
void damage_file(const std::string& path, const Read& read) {
  const std::string good = read_file(path);
  expect_values_or_sentences(good, kCases, [&](const std::string& bytes) {
    write_file(path, bytes);
    read();
  });
  write_file(path, good);
}

TEST(DamagedModels, LanguageModelFolders) {
  for (const bool authors : {true, false}) {
    auto config = lact::testing::tiny_lm();
    config.num_layers = 1;
    config.vocabulary_size = 16;
    if (authors) config.layer.memory.base_rate = 0.001;
    const TemporaryFolder folder;
    save_lm(folder / "model", *lact::testing::make_lm(config));
    const auto read = [&] { load_lm(folder / "model"); };
    damage_file(folder / "model/config.json", read);
    damage_file(folder / "model/model.safetensors", read);
  }
}

TEST(DamagedModels, ViewSynthesisFolders) {
  const TemporaryFolder folder;
  save_nvs(folder / "model", *lact::testing::make_nvs(lact::testing::tiny_nvs()));
  const auto read = [&] {
    load_nvs(folder / "model");
    read_nvs_training(folder / "model");
  };
  damage_file(folder / "model/config.json", read);
}

TEST(DamagedModels, Memories) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.mem";
  const auto model = lact::testing::make_lm(lact::testing::tiny_lm());
  LmStream stream(model);
  const std::vector<int64_t> ids = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  stream.read(ids);
  save_memory(path, stream, "hash");
  damage_file(path, [&] {
    LmStream loaded = load_memory(path, model, "hash");
    loaded.read(ids);
    loaded.next_logits();
  });
}

TEST(DamagedModels, Scenes) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.fw";
  const auto model = lact::testing::make_nvs(lact::testing::tiny_nvs());
  const auto views = lact::testing::tiny_scene(2, 8, 8);
  NvsScene scene;
  scene.state = model->reconstruct(views.list(), views.intrinsics, views.camera_to_world);
  scene.intrinsics = views.intrinsics;
  scene.camera_to_world = views.camera_to_world;
  scene.sizes.assign(2, {8, 8});
  save_scene(path, scene, "hash");
  damage_file(path, [&] { load_scene(path, *model, "hash"); });
}

}  // namespace
}  // namespace lact::models
