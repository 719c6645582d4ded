#include "lact/data/views/holdout.h"

#include <algorithm>
#include <tuple>

#include "lact/base/error.h"
#include "lact/base/fnv.h"

namespace lact::data {

namespace {

uint64_t hash_of_name(const std::string& name) {
  Fnv1a hash;
  hash.update(name);
  return hash.value();
}

}  // namespace

bool contains_one_of(const std::string& name, const std::vector<std::string>& fragments) {
  return std::any_of(fragments.begin(), fragments.end(),
                     [&](const std::string& fragment) { return name.find(fragment) != std::string::npos; });
}

void sort_by_name(std::vector<NamedPath>& files) {
  std::sort(files.begin(), files.end(), [](const NamedPath& a, const NamedPath& b) {
    return std::tie(a.name, a.path) < std::tie(b.name, b.path);
  });
}

std::vector<NamedPath> split_by_name(const std::vector<NamedPath>& files, ScenePart part, int64_t count,
                                     const std::vector<std::string>& names, const std::string& one,
                                     const std::string& many) {
  const bool held_out = part == ScenePart::kHoldout;
  const auto total = static_cast<int64_t>(files.size());
  LACT_CHECK(count >= 0, "holdout is {}, expected a number of {}", count, many);
  for (const std::string& name : names) {
    const auto named = [&](const NamedPath& file) { return contains_one_of(file.name, {name}); };
    LACT_CHECK(std::any_of(files.begin(), files.end(), named),
               "no {} has '{}' in its name, so it cannot be held out", one, name);
  }
  std::vector<uint64_t> hashes;
  for (const NamedPath& file : files) hashes.push_back(hash_of_name(file.name));
  std::sort(hashes.begin(), hashes.end());
  const auto is_held_out = [&](const NamedPath& file) {
    if (!names.empty()) return contains_one_of(file.name, names);
    return count > 0 && (count >= total || hash_of_name(file.name) < hashes[static_cast<size_t>(count)]);
  };
  std::vector<NamedPath> kept;
  for (const NamedPath& file : files) {
    if (is_held_out(file) == held_out) kept.push_back(file);
  }
  LACT_CHECK(held_out || !kept.empty() || files.empty(),
             "all {} {} are held out, so that none is left to train on", total, many);
  return kept;
}

}  // namespace lact::data
