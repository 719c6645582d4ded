#include "lact/data/views/mesh_library.h"

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "lact/base/error.h"
#include "lact/base/fnv.h"
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

bool contains_one_of(const std::string& name, const std::vector<std::string>& fragments) {
  return std::any_of(fragments.begin(), fragments.end(),
                     [&](const std::string& fragment) { return name.find(fragment) != std::string::npos; });
}

uint64_t hash_of_name(const std::string& name) {
  Fnv1a hash;
  hash.update(name);
  return hash.value();
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
  std::sort(files.begin(), files.end(), [](const MeshFile& a, const MeshFile& b) {
    return std::tie(a.name, a.path) < std::tie(b.name, b.path);
  });
  return files;
}

std::vector<MeshFile> split_mesh_files(const std::vector<MeshFile>& files, bool held_out, int64_t count,
                                       const std::vector<std::string>& names) {
  const auto total = static_cast<int64_t>(files.size());
  LACT_CHECK(count >= 0, "holdout is {}, expected a number of meshes", count);
  for (const std::string& name : names) {
    const auto named = [&](const MeshFile& file) { return contains_one_of(file.name, {name}); };
    LACT_CHECK(std::any_of(files.begin(), files.end(), named),
               "no mesh has '{}' in its name, so it cannot be held out", name);
  }
  std::vector<uint64_t> hashes;
  for (const MeshFile& file : files) hashes.push_back(hash_of_name(file.name));
  std::sort(hashes.begin(), hashes.end());
  const auto is_held_out = [&](const MeshFile& file) {
    if (!names.empty()) return contains_one_of(file.name, names);
    return count > 0 && (count >= total || hash_of_name(file.name) < hashes[static_cast<size_t>(count)]);
  };
  std::vector<MeshFile> kept;
  for (const MeshFile& file : files) {
    if (is_held_out(file) == held_out) kept.push_back(file);
  }
  LACT_CHECK(held_out || !kept.empty() || files.empty(),
             "all {} meshes are held out, so that none is left to train on", total);
  return kept;
}

MeshLibrary::MeshLibrary(std::vector<MeshFile> files, std::vector<std::string> y_up, size_t max_bytes)
    : files_(std::move(files)), y_up_(std::move(y_up)), max_bytes_(max_bytes) {}

std::shared_ptr<const tracer::Mesh> MeshLibrary::find_locked(int64_t index) {
  const auto found =
      std::find_if(kept_.begin(), kept_.end(), [&](const Entry& entry) { return entry.index == index; });
  if (found == kept_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, found);
  return found->mesh;
}

std::shared_ptr<const tracer::Mesh> MeshLibrary::mesh(int64_t index) {
  LACT_CHECK(index >= 0 && index < size(), "mesh {} is asked for, but there are {}", index, size());
  {
    const std::lock_guard lock(mutex_);
    if (auto found = find_locked(index)) return found;
  }
  // Others go on while a file is read; should two threads read the same one, the first wins.
  const MeshFile& file = files_[static_cast<size_t>(index)];
  const tracer::MeshData data = tracer::read_mesh(file.path);
  tracer::MeshOptions options;
  options.up = data.up.value_or(contains_one_of(file.name, y_up_) ? tracer::Up::kY : tracer::Up::kZ);
  auto read = tracer::make_mesh(data, file.path, options);
  const std::lock_guard lock(mutex_);
  if (auto found = find_locked(index)) return found;
  bytes_ += read->bytes();
  kept_.push_front({index, read});
  while (bytes_ > max_bytes_ && kept_.size() > 1) {
    bytes_ -= kept_.back().mesh->bytes();
    kept_.pop_back();
  }
  return read;
}

}  // namespace lact::data
