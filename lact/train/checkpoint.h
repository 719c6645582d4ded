// Checkpoints of a run: one safetensors file each, written whole or not at all, the newest few kept.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "lact/io/safetensors.h"

namespace lact::train {

class CheckpointFolder {
 public:
  /// `keep` newest checkpoints stay. The folder is made with the first of them.
  CheckpointFolder(std::string folder, int64_t keep);

  /// Writes the checkpoint of `step`, then removes older ones and what killed processes left behind.
  void save(int64_t step, const io::TensorFile& file) const;

  struct Found {
    int64_t step;
    std::string path;
    io::TensorFile file;
  };
  /// The newest checkpoint that can be read whole. One that cannot is passed over with a warning.
  std::optional<Found> newest() const;

 private:
  std::map<int64_t, std::string> list() const;

  std::string folder_;
  int64_t keep_;
};

/// Copies the tensor `name` into `target`. Throws a sentence that names `file` if it is missing or has
/// another shape or type.
void restore(at::Tensor& target, const std::map<std::string, at::Tensor>& tensors, const std::string& name,
             const std::string& file);

}  // namespace lact::train
