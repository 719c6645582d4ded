// Scenes to test view synthesis on: some views are read, others have to be guessed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lact/data/views/camera.h"
#include "lact/data/views/capture.h"
#include "lact/data/views/normalize.h"
#include "lact/data/views/scene_source.h"
#include "lact/data/views/select.h"

namespace lact::data {

/// Inputs, and also targets, of a test.
inline constexpr int64_t kMostTestViews = 4096;

struct TestOptions {
  int64_t height = 128, width = 128;
  std::vector<int64_t> counts = {2, 4, 8, 16, 32};  ///< of input views
  int64_t targets = 8;                              ///< views to guess, at most
  int64_t target_every = 8;  ///< of photos: every n-th of them may be a target; 0: any, by chance
  ViewChoice inputs = ViewChoice::kmeans;
  uint64_t seed = 0;
  std::string group;  ///< of all scenes; "": by their kind, photos each by its own

  /// Throws one sentence for numbers that cannot work.
  void check() const;
};

struct TestViews {
  PosedImages views;                               ///< of one size; cameras in the coordinates of the world
  std::vector<int64_t> targets;                    ///< views to guess
  std::map<int64_t, std::vector<int64_t>> inputs;  ///< views to read, by how many they are; never a target
  /// To the coordinates of an object: those of the tracer's scenes as they are, of photos an estimate from
  /// all cameras of the scene.
  SceneFrame object;
};

/// A scene that is rendered, or read from the disk, when it is needed.
struct TestCase {
  std::string group;  ///< scenes that can be averaged
  std::string name;
  std::vector<int64_t> counts;  ///< of input views, ascending: those of the options that there are views for
  std::vector<int64_t> left_out;  ///< the others
  int64_t targets = 0;
  std::function<TestViews()> load;
};

/// Scenes made of a seed alone, none of which is ever trained on. Group "procedural" unless the options name
/// one.
std::vector<TestCase> procedural_cases(int64_t scenes, const TestOptions& options);

/// One scene for each mesh that `config` holds out from training. Likewise "meshes".
std::vector<TestCase> mesh_cases(const SceneSourceConfig& config, const TestOptions& options);

/// One scene for each folder or camera file, named after its folder.
std::vector<TestCase> photo_cases(const std::vector<std::string>& paths, const CaptureOptions& reading,
                                  const TestOptions& options);

}  // namespace lact::data
