#include "lact/models/lpips/lpips_files.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <filesystem>

#include "lact/base/error.h"
#include "lact/base/options.h"
#include "lact/io/finite.h"
#include "lact/io/pt_reader.h"
#include "lact/io/safetensors.h"

namespace lact::models {

namespace {

namespace fs = std::filesystem;

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

/// "" where there is none; of several the first by name.
std::string download_in(const std::string& folder, const std::string& start) {
  std::string found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string(), path = entry->path().string();
    if (name.starts_with(start) && name.ends_with(".pth") && is_file(path) && (found.empty() || path < found))
      found = path;
  }
  return found;
}

}  // namespace

LpipsFile::LpipsFile(const std::string& path, const std::string& prefix) : path_(path) {
  const auto wanted = [&](const std::string& name) { return name.starts_with(prefix); };
  if (path.ends_with(".pth")) {
    tensors_ = io::read_pt(path, wanted);
  } else {
    tensors_ = io::read_safetensors(path).tensors;
    std::erase_if(tensors_, [&](const auto& entry) { return !wanted(entry.first); });
  }
  io::check_finite(tensors_, path_);
}

at::Tensor LpipsFile::take(const std::string& name, const std::vector<int64_t>& shape) const {
  const auto found = tensors_.find(name);
  LACT_CHECK(found != tensors_.end(), "{}: tensor {} is missing", path_, name);
  LACT_CHECK(found->second.sizes() == shape && found->second.is_floating_point(),
             "{}: tensor {} has shape {}, expected {}", path_, name, found->second.sizes().vec(), shape);
  return found->second.to(at::kFloat);
}

std::string find_lpips_features(LpipsNetwork network, const std::string& folder) {
  const std::string stem(torchvision_name(network));
  std::error_code ignored;
  LACT_CHECK(fs::is_directory(folder, ignored), "{}: is no folder, expected one with the weights of LPIPS",
             folder);
  for (const char* ending : {"_features.safetensors", ".safetensors"})
    if (const fs::path path = fs::path(folder) / (stem + ending); is_file(path)) return path.string();
  if (const std::string found = download_in(folder, stem + "-"); !found.empty()) return found;
  if (const fs::path path = fs::path(folder) / (stem + ".pth"); is_file(path)) return path.string();
  fail(
      "{}: the folder holds no {}_features.safetensors and no {}-*.pth of torchvision, the network of LPIPS "
      "({})",
      folder, stem, stem, options::word_of(network));
}

std::string find_lpips_heads(LpipsNetwork network, const std::string& folder) {
  const auto word = options::word_of(network);
  const fs::path ours = fs::path(folder) / fmt::format("lpips_lin_{}_v0.1.safetensors", word),
                 published = fs::path(folder) / fmt::format("{}.pth", word);
  if (is_file(ours)) return ours.string();
  LACT_CHECK(is_file(published), "{}: the folder holds neither {} nor {} with the linear layers of LPIPS",
             folder, ours.filename().string(), published.filename().string());
  return published.string();
}

}  // namespace lact::models
