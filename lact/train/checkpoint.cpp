#include "lact/train/checkpoint.h"

#include <ATen/ATen.h>

#include <filesystem>

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/nn/loan.h"

namespace lact::train {

namespace fs = std::filesystem;

namespace {

const std::string kPrefix = "step-", kSuffix = ".safetensors";

/// "step-00000100.safetensors" -> 100
std::optional<int64_t> step_of(const std::string& name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return std::nullopt;
  const std::string digits = name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size());
  if (digits.empty() || digits.size() > 15 || digits.find_first_not_of("0123456789") != std::string::npos) {
    return std::nullopt;
  }
  return std::stoll(digits);
}

}  // namespace

CheckpointFolder::CheckpointFolder(std::string folder, int64_t keep)
    : folder_(std::move(folder)), keep_(std::max<int64_t>(1, keep)) {}

std::map<int64_t, std::string> CheckpointFolder::list() const {
  std::map<int64_t, std::string> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder_, error), end; !error && entry != end; entry.increment(error)) {
    if (const auto step = step_of(entry->path().filename().string())) found[*step] = entry->path().string();
  }
  return found;
}

std::string CheckpointFolder::path(int64_t step) const {
  return (fs::path(folder_) / fmt::format("{}{:08}{}", kPrefix, step, kSuffix)).string();
}

void CheckpointFolder::save(int64_t step, const io::TensorFile& file,
                            const io::TensorContents& contents) const {
  std::error_code error;
  fs::create_directories(folder_, error);
  LACT_CHECK(!error, "{}: cannot be created: {}", folder_, error.message());
  io::write_safetensors(path(step), file, contents);

  auto found = list();
  found.erase(step);
  while (int64_t(found.size()) >= keep_) {
    fs::remove(found.begin()->second, error);
    found.erase(found.begin());
  }
}

CheckpointFolder::Search CheckpointFolder::search() const {
  Search result;
  const auto files = list();
  for (auto file = files.rbegin(); file != files.rend() && !result.newest; ++file) {
    try {
      result.newest = Checkpoint{file->first, file->second, io::read_safetensors(file->second)};
    } catch (const Error& error) {
      log::warn("passed over a damaged checkpoint: {}", error.what());
      result.damaged.push_back(file->second);
    }
  }
  return result;
}

void CheckpointFolder::set_aside(const std::vector<std::string>& damaged) const {
  for (const std::string& path : damaged) {
    std::error_code ignored;
    fs::rename(path, path + ".damaged", ignored);
  }
}

void restore(at::Tensor& target, const std::map<std::string, at::Tensor>& tensors, const std::string& name,
             const std::string& file) {
  const auto found = tensors.find(name);
  LACT_CHECK(found != tensors.end(), "{}: tensor {} is missing", file, name);
  LACT_CHECK(found->second.sizes() == target.sizes(), "{}: tensor {} has shape {}, expected {}", file, name,
             found->second.sizes().vec(), target.sizes().vec());
  LACT_CHECK(found->second.scalar_type() == target.scalar_type(), "{}: tensor {} has type {}, expected {}",
             file, name, toString(found->second.scalar_type()), toString(target.scalar_type()));
  if (nn::is_held(target)) target.copy_(found->second);
}

}  // namespace lact::train
