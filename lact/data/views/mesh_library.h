// Many meshes of which those used last are kept in memory.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lact/data/views/tracer/mesh.h"

namespace lact::data {

/// A mesh file, and the name by which it is listed and held out.
struct MeshFile {
  std::string path;
  std::string name;  ///< the path below the folder that was given; of a file alone "its folder/its name"
};

/// Files stay as given; a folder becomes all mesh files below it. Sorted by name, so that the order is the
/// same wherever the folder is.
std::vector<MeshFile> find_mesh_files(const std::vector<std::string>& paths);

/// Keeps the files that are held out, or all the others. Held out are the files whose name contains one of
/// `names`; without names, `count` files that are the first when ordered by a hash of their name.
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
  struct Entry {
    int64_t index;
    std::shared_ptr<const tracer::Mesh> mesh;
  };

  std::shared_ptr<const tracer::Mesh> find_locked(int64_t index);

  std::vector<MeshFile> files_;
  std::vector<std::string> y_up_;
  size_t max_bytes_;
  std::mutex mutex_;
  std::list<Entry> kept_;  ///< the one used last comes first
  size_t bytes_ = 0;
};

}  // namespace lact::data
