// Where training scenes come from: seeds, meshes, or a mix of both.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lact/data/views/mesh_library.h"
#include "lact/data/views/tracer/scene.h"

namespace lact::data {

struct SceneSourceConfig {
  double mesh_share = 0;
  std::vector<std::string> meshes;
  std::vector<std::string> y_up;
  int64_t holdout = 8;
  std::vector<std::string> holdout_names;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("mesh_share", mesh_share, "share of scenes that show a mesh; the others are made of a seed alone");
    field("meshes", meshes, "OBJ, glTF, GLB or PLY files, or folders with such files below them");
    field("y_up", y_up, "meshes with one of these in their name have y up; the others z, but glTF always y");
    field("holdout", holdout, "meshes that are kept for validation, chosen by a hash of their name");
    field("holdout_names", holdout_names,
          "instead: meshes with one of these in their name are kept for validation");
  }
  bool operator==(const SceneSourceConfig&) const = default;
};

/// Safe for several threads.
class SceneSource {
 public:
  SceneSource(const SceneSourceConfig& config, ScenePart part);

  /// The same scene for the same seed; the two parts have none in common.
  tracer::Scene scene(uint64_t seed) const;

  int64_t num_meshes() const { return library_->size(); }
  const MeshFile& mesh_file(int64_t index) const { return library_->file(index); }
  /// A certain mesh of this part; the seed chooses light, colours and its turn.
  tracer::Scene mesh_scene(int64_t index, uint64_t seed) const;

 private:
  double mesh_share_;
  ScenePart part_;
  std::unique_ptr<MeshLibrary> library_;
};

}  // namespace lact::data
