// The tensors of a model folder: model.safetensors, or several files and model.safetensors.index.json, which
// says which tensor lies in which file (the Hugging Face layout).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>

namespace lact::io {

/// Throws a sentence that names the file for a missing file, a tensor that the index promises and no file
/// holds, or one that a file holds and the index does not name.
/// Other libraries have another name than `stem` for the files.
std::map<std::string, at::Tensor> read_tensor_folder(const std::string& folder,
                                                     const std::string& stem = "model");

inline constexpr int64_t kLargestShard = int64_t(5) << 30;

/// One file, or, beyond `largest_shard` bytes, several and an index. A reader finds all of the old tensors or
/// all of the new ones, also if the process is killed at any point: new files have names of their own, the
/// index comes last, and old files are removed after it.
void write_tensor_folder(const std::string& folder, const std::map<std::string, at::Tensor>& tensors,
                         int64_t largest_shard = kLargestShard);

}  // namespace lact::io
