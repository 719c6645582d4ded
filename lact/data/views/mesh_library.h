// Many meshes of which those used last are kept in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lact/data/shared_lru.h"
#include "lact/data/views/holdout.h"
#include "lact/data/views/tracer/mesh.h"

namespace lact::data {

/// Its name: the path below the folder that was given; of a file alone "its folder/its name".
using MeshFile = NamedPath;

/// Files stay as given; a folder becomes all mesh files below it. Sorted by name, so that the order is the
/// same wherever the folder is.
std::vector<MeshFile> find_mesh_files(const std::vector<std::string>& paths);

/// As split_by_name.
std::vector<MeshFile> split_mesh_files(const std::vector<MeshFile>& files, bool held_out, int64_t count,
                                       const std::vector<std::string>& names);

/// Safe for several threads.
class MeshLibrary {
 public:
  static constexpr size_t kMaxBytes = size_t{1} << 30;

  /// Files whose name contains one of `y_up` have y up, the others z, unless their format says so (glTF: y).
  MeshLibrary(std::vector<MeshFile> files, std::vector<std::string> y_up, size_t max_bytes = kMaxBytes);

  int64_t size() const { return static_cast<int64_t>(files_.size()); }
  const MeshFile& file(int64_t index) const { return files_[static_cast<size_t>(index)]; }
  /// Reads the file unless it is still in memory.
  std::shared_ptr<const tracer::Mesh> mesh(int64_t index);

 private:
  std::vector<MeshFile> files_;
  std::vector<std::string> y_up_;
  SharedLru<int64_t, tracer::Mesh> kept_;
};

}  // namespace lact::data
