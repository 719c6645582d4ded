// The words that say which scene to look at: a model's scene file or Gaussians, and what goes with each.
#pragma once

#include <string>

#include "lact/cli/nvs/nvs.h"
#include "lact/tasks/nvs/open_scene.h"

namespace lact::cli {

struct SceneArguments {
  NvsArguments nvs;
  std::string scene, photos, background, up;
  data::CaptureOptions reading;
};

/// SCENE and its options.
void add_scene_words(CLI::App& verb, SceneArguments& arguments);

/// Throws a sentence for options that mean nothing for this kind of scene.
tasks::nvs::SceneReader reader_of(const CLI::App& verb, const SceneArguments& arguments);

/// white, black or R,G,B from 0 to 1. `option` is for errors.
std::array<double, 3> parse_background(const std::string& text, const std::string& option);

}  // namespace lact::cli
