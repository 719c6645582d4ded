#include "lact/io/tensor_folder.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <vector>

#include "lact/base/error.h"
#include "lact/base/json_text.h"
#include "lact/base/options.h"
#include "lact/io/atomic_file.h"
#include "lact/io/safetensors.h"

namespace lact::io {

namespace fs = std::filesystem;

namespace {

const char* const kSingle = "model.safetensors";
const char* const kIndex = "model.safetensors.index.json";

/// tensor -> file, from the index.
std::map<std::string, std::string> read_weight_map(const std::string& index) {
  const options::Json json = options::read_json_file(index);
  LACT_CHECK(json.is_object() && json.contains("weight_map") && json["weight_map"].is_object(),
             "{}: has no object weight_map", index);
  std::map<std::string, std::string> files;
  for (const auto& [name, file] : json["weight_map"].items()) {
    LACT_CHECK(file.is_string(), "{}: weight_map.{} is {}, expected a file name", index, name,
               shown_json(file));
    const std::string text = file.get<std::string>();
    LACT_CHECK(fs::path(text).filename() == text && text.ends_with(".safetensors"),
               "{}: weight_map.{} is \"{}\", expected the name of a .safetensors file in the same folder",
               index, name, text);
    files[name] = text;
  }
  return files;
}

std::map<std::string, at::Tensor> read_shards(const fs::path& folder, const std::string& index_name) {
  const std::string index = (folder / index_name).string();
  const auto weight_map = read_weight_map(index);
  std::set<std::string> files;
  for (const auto& [name, file] : weight_map) files.insert(file);
  std::map<std::string, at::Tensor> tensors;
  for (const auto& file : files) {
    const std::string path = (folder / file).string();
    for (auto& [name, tensor] : read_safetensors(path).tensors) {
      const auto promised = weight_map.find(name);
      LACT_CHECK(promised != weight_map.end() && promised->second == file,
                 "{}: holds the tensor {}, which {} does not place there", path, name, index_name);
      tensors[name] = std::move(tensor);
    }
  }
  for (const auto& [name, file] : weight_map) {
    LACT_CHECK(tensors.count(name) > 0, "{}: tensor {} is missing, which {} promises",
               (folder / file).string(), name, index_name);
  }
  return tensors;
}

/// The Hugging Face names, and for later saves into the same folder "model-v2-00001-of-00003.safetensors".
std::vector<std::string> shard_names(size_t count, int version) {
  std::vector<std::string> names;
  const std::string prefix = version == 1 ? "model" : fmt::format("model-v{}", version);
  for (size_t i = 0; i < count; ++i)
    names.push_back(fmt::format("{}-{:05}-of-{:05}.safetensors", prefix, i + 1, count));
  return names;
}

/// Names that no file has: until the new index is there, the old one and its shards stay as they are.
std::vector<std::string> unused_shard_names(const fs::path& folder, size_t count) {
  for (int version = 1;; ++version) {
    auto names = shard_names(count, version);
    const auto is_used = [&](const std::string& name) { return fs::exists(folder / name); };
    if (std::none_of(names.begin(), names.end(), is_used)) return names;
  }
}

void remove_stale(const fs::path& folder, const std::set<std::string>& written) {
  std::error_code error;
  std::vector<fs::path> stale;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool ours =
        name == kSingle || name == kIndex || (name.starts_with("model-") && name.ends_with(".safetensors"));
    if (ours && written.count(name) == 0) stale.push_back(entry->path());
  }
  LACT_CHECK(!error, "{}: the folder cannot be read: {}", folder.string(), error.message());
  for (const fs::path& file : stale) {
    fs::remove(file, error);
    LACT_CHECK(!error, "{}: is outdated and cannot be removed: {}", file.string(), error.message());
  }
}

}  // namespace

std::map<std::string, at::Tensor> read_tensor_folder(const std::string& folder, const std::string& stem) {
  const fs::path path = folder;
  const std::string single = stem + ".safetensors", index = single + ".index.json";
  LACT_CHECK(fs::is_directory(path), "{}: is not a folder", folder);
  if (fs::exists(path / single)) return read_safetensors((path / single).string()).tensors;
  LACT_CHECK(fs::exists(path / index), "{}: holds neither {} nor {}", folder, single, index);
  return read_shards(path, index);
}

void write_tensor_folder(const std::string& folder, const std::map<std::string, at::Tensor>& tensors,
                         int64_t largest_shard) {
  std::vector<TensorFile> shards(1);
  int64_t filled = 0, total = 0;
  for (const auto& [name, tensor] : tensors) {
    const int64_t bytes = tensor.numel() * int64_t(tensor.element_size());
    if (filled > 0 && filled + bytes > largest_shard) {
      shards.emplace_back();
      filled = 0;
    }
    shards.back().tensors[name] = tensor;
    filled += bytes;
    total += bytes;
  }
  const fs::path path = folder;
  std::set<std::string> written;
  options::Json weight_map = options::Json::object();
  const auto names =
      shards.size() == 1 ? std::vector<std::string>{kSingle} : unused_shard_names(path, shards.size());
  for (size_t i = 0; i < shards.size(); ++i) {
    const std::string& name = names[i];
    shards[i].metadata["format"] = "pt";
    write_safetensors((path / name).string(), shards[i]);
    written.insert(name);
    for (const auto& [tensor, unused] : shards[i].tensors) weight_map[tensor] = name;
  }
  if (shards.size() > 1) {
    const options::Json index = {{"metadata", {{"total_size", total}}}, {"weight_map", weight_map}};
    write_file_atomically((path / kIndex).string(),
                          [&](FileWriter& file) { file.write(index.dump(2) + "\n"); });
    written.insert(kIndex);
  }
  remove_stale(path, written);
}

}  // namespace lact::io
