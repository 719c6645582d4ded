// Which meshes or captures are kept for validation: a hash of their names decides, the same on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lact::data {

/// A file or folder, and the name by which it is listed and held out.
struct NamedPath {
  std::string path;
  std::string name;
};

/// Scenes to train on, and scenes that are never trained on.
enum class ScenePart { kTrain, kHoldout };

/// By name, then path: the order is the same wherever the folder is.
void sort_by_name(std::vector<NamedPath>& files);

/// Keeps the files that are held out, or all the others. Held out are the files whose name contains one of
/// `names`; without names, `count` files that are the first when ordered by a hash of their name. `one` and
/// `many` are what they are called in sentences: "mesh", "meshes".
std::vector<NamedPath> split_by_name(const std::vector<NamedPath>& files, ScenePart part, int64_t count,
                                     const std::vector<std::string>& names, const std::string& one,
                                     const std::string& many);

bool contains_one_of(const std::string& name, const std::vector<std::string>& fragments);

}  // namespace lact::data
