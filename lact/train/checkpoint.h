// Checkpoints of a run: one safetensors file each, written whole or not at all, the newest few kept.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lact/io/safetensors.h"

namespace lact::train {

struct Checkpoint {
  int64_t step;
  std::string path;
  io::TensorFile file;
};

class CheckpointFolder {
 public:
  /// `keep` newest checkpoints stay. The folder is made with the first of them.
  CheckpointFolder(std::string folder, int64_t keep);

  std::string path(int64_t step) const;
  /// Writes the checkpoint of `step`, then removes older ones.
  void save(int64_t step, const io::TensorFile& file, const io::TensorContents& contents = {}) const;

  struct Search {
    std::optional<Checkpoint> newest;  ///< that can be read whole
    std::vector<std::string> damaged;  ///< paths of newer ones, which cannot; there was a warning for each
  };
  Search search() const;
  std::optional<Checkpoint> newest() const { return search().newest; }

  /// Renames damaged checkpoints, so that they no longer count among those that are kept.
  void set_aside(const std::vector<std::string>& damaged) const;

 private:
  std::map<int64_t, std::string> list() const;

  std::string folder_;
  int64_t keep_;
};

/// Copies the tensor `name` into `target`, unless another rank keeps that. Throws a sentence that names
/// `file` if it is missing or has another shape or type.
void restore(at::Tensor& target, const std::map<std::string, at::Tensor>& tensors, const std::string& name,
             const std::string& file);

}  // namespace lact::train
