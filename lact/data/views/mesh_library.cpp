#include "lact/data/views/mesh_library.h"

#include <filesystem>

#include "lact/base/error.h"
#include "lact/data/views/tracer/mesh_file.h"
#include "lact/io/regular_file.h"

namespace lact::data {

namespace {

namespace fs = std::filesystem;

std::vector<MeshFile> mesh_files_below(const std::string& folder) {
  std::vector<MeshFile> files;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (!tracer::is_mesh_name(entry->path().string()) || !entry->is_regular_file(ignored)) continue;
    files.push_back({entry->path().string(), entry->path().lexically_relative(folder).generic_string()});
  }
  LACT_CHECK(!error, "{}: the folder cannot be read: {}", folder, error.message());
  LACT_CHECK(!files.empty(), "{}: the folder holds no mesh, expected files in {}", folder,
             tracer::kMeshFormats);
  return files;
}

}  // namespace

std::vector<MeshFile> find_mesh_files(const std::vector<std::string>& paths) {
  std::vector<MeshFile> files;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) {
      for (MeshFile& file : mesh_files_below(path)) files.push_back(std::move(file));
    } else {
      io::regular_file_size(path);
      const fs::path file = path;
      files.push_back({path, (file.parent_path().filename() / file.filename()).generic_string()});
    }
  }
  sort_by_name(files);
  return files;
}

std::vector<MeshFile> split_mesh_files(const std::vector<MeshFile>& files, bool held_out, int64_t count,
                                       const std::vector<std::string>& names) {
  return split_by_name(files, held_out ? ScenePart::kHoldout : ScenePart::kTrain, count, names, "mesh",
                       "meshes");
}

MeshLibrary::MeshLibrary(std::vector<MeshFile> files, std::vector<std::string> y_up, size_t max_bytes)
    : files_(std::move(files)), y_up_(std::move(y_up)), kept_(max_bytes) {}

std::shared_ptr<const tracer::Mesh> MeshLibrary::mesh(int64_t index) {
  LACT_CHECK(index >= 0 && index < size(), "mesh {} is asked for, but there are {}", index, size());
  const MeshFile& file = files_[static_cast<size_t>(index)];
  return kept_.get(index, [&] {
    const tracer::MeshData data = tracer::read_mesh(file.path);
    tracer::MeshOptions options;
    options.up = data.up.value_or(contains_one_of(file.name, y_up_) ? tracer::Up::kY : tracer::Up::kZ);
    return tracer::make_mesh(data, file.path, options);
  });
}

}  // namespace lact::data
