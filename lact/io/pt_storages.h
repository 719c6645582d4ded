// Where the pickle and the bytes of the tensors lie in a file of PyTorch's torch.save: in a zip archive, or,
// before 1.6 and in files that are still handed around, one pickle after the other with the bytes at the end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "lact/io/pickle.h"

namespace lact::io {

class PtStorages {
 public:
  virtual ~PtStorages() = default;

  /// What was saved.
  virtual const PickleValue& root() const = 0;
  virtual uint64_t file_bytes() const = 0;

  /// Bytes of a storage; throws lact::Error where there is none of this key.
  virtual uint64_t bytes_of(const std::string& key) = 0;
  /// All of them.
  virtual void read(const std::string& key, void* bytes) = 0;
};

/// Throws lact::Error that names the file.
std::unique_ptr<PtStorages> open_pt(const std::string& path);

}  // namespace lact::io
