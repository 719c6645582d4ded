// The part of Python's pickle format that a saved state dict is made of, read into plain values. Nothing is
// ever executed: a pickle names functions, and only the few names below have a meaning here; any other is an
// error.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace lact::io {

struct PickleValue {
  enum class Kind { none, boolean, integer, real, text, list, dict, name, storage, tensor };
  Kind kind = Kind::none;
  int64_t integer = 0;  ///< also: boolean; elements of a storage; offset of a tensor
  double real = 0;
  std::string text;                       ///< also: a name, "module.attribute"; the key of a storage
  std::vector<const PickleValue*> items;  ///< of lists and tuples; keys and values of a dict in turn; the
                                          ///< storage of a tensor
  at::ScalarType type = at::kFloat;       ///< of a storage
  std::vector<int64_t> sizes, strides;    ///< of a tensor
};

/// A parsed pickle. Values may share others and may even contain themselves.
class Pickle {
 public:
  /// Throws lact::Error that names `path` for anything but dicts, lists, tuples, numbers, texts and tensors.
  /// What follows the pickle's end in `bytes` is left alone.
  Pickle(const std::string& path, std::string_view bytes);
  Pickle(const Pickle&) = delete;
  Pickle& operator=(const Pickle&) = delete;

  const PickleValue& root() const { return *root_; }
  const std::deque<PickleValue>& values() const { return values_; }
  size_t bytes() const { return bytes_; }

 private:
  std::deque<PickleValue> values_;  ///< all of them; their addresses stay
  const PickleValue* root_ = nullptr;
  size_t bytes_ = 0;  ///< that it takes
};

}  // namespace lact::io
