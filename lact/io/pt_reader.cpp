#include "lact/io/pt_reader.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <set>

#include "lact/base/error.h"
#include "lact/base/out_of_memory.h"
#include "lact/io/pt_storages.h"
#include "lact/io/safetensors_header.h"

namespace lact::io {

namespace {

using Kind = PickleValue::Kind;

constexpr int kDeepest = 32;             // dicts in dicts; a value may contain itself
constexpr size_t kMostValues = 1 << 22;  // visited; values may be shared again and again
constexpr size_t kMostTensors = 1 << 18, kLongestName = 1024;

// Tensors that are parts of one storage are copied out of it. Together they may take so many times the bytes
// of the file: some share weights, but no state dict shows one storage a thousand times.
constexpr uint64_t kMostCopies = 4, kAlwaysAllowed = 64 << 20;

constexpr int64_t kLargestSize = int64_t(1) << 40;

class PtTensors {
 public:
  PtTensors(const std::string& path, const WantedTensor& wanted)
      : path_(path), wanted_(wanted), file_(open_pt(path)) {}

  std::map<std::string, at::Tensor> read() {
    const PickleValue& root = file_->root();
    LACT_CHECK(root.kind == Kind::dict || root.kind == Kind::list,
               "{}: holds neither a dict nor a list of tensors", path_);
    visit(root, "", 0);
    return std::move(tensors_);
  }

 private:
  void visit(const PickleValue& value, const std::string& name, int depth) {
    LACT_CHECK(depth <= kDeepest && ++visited_ <= kMostValues,
               "{}: its values lie too deep or are too many to be a state dict", path_);
    const auto inner = [&](const std::string& key) { return name.empty() ? key : name + "." + key; };
    if (value.kind == Kind::tensor) {
      LACT_CHECK(name.size() <= kLongestName && ++num_tensors_ <= kMostTensors,
                 "{}: holds more than {} tensors, or one whose name has more than {} bytes", path_,
                 kMostTensors, kLongestName);
      if (wanted_ && !wanted_(name)) return;
      LACT_CHECK(tensors_.emplace(name, tensor(value, name)).second, "{}: holds two tensors {}", path_,
                 shown(name));
    } else if (value.kind == Kind::list) {
      for (size_t i = 0; i < value.items.size(); ++i)
        visit(*value.items[i], inner(std::to_string(i)), depth + 1);
    } else if (value.kind == Kind::dict) {
      for (size_t i = 0; i < value.items.size(); i += 2) {
        const PickleValue& key = *value.items[i];
        LACT_CHECK(key.kind == Kind::text || key.kind == Kind::integer,
                   "{}: a key below {} is neither a text nor a whole number", path_, shown(name));
        visit(*value.items[i + 1], inner(key.kind == Kind::text ? key.text : std::to_string(key.integer)),
              depth + 1);
      }
    }
  }

  at::Tensor tensor(const PickleValue& value, const std::string& name) {
    const PickleValue& storage = *value.items.front();
    const auto wide = [](int64_t number) { return static_cast<__int128>(number); };
    LACT_CHECK(value.sizes.size() == value.strides.size() && value.sizes.size() <= 16 && value.integer >= 0,
               "{}: tensor {} has shape {}, strides {} and offset {}", path_, shown(name), value.sizes,
               value.strides, value.integer);
    __int128 elements = 1, strides = 1, last = value.integer;
    for (size_t i = 0; i < value.sizes.size(); ++i) {
      LACT_CHECK(value.sizes[i] >= 0 && value.sizes[i] <= kLargestSize && value.strides[i] >= 0,
                 "{}: tensor {} has shape {} and strides {}", path_, shown(name), value.sizes, value.strides);
      elements *= value.sizes[i];
      strides *= std::max<int64_t>(value.sizes[i], 1);  // LibTorch multiplies those of an empty tensor, too
      last += wide(std::max<int64_t>(value.sizes[i] - 1, 0)) * value.strides[i];
      LACT_CHECK(strides <= kLargestSize && last <= wide(INT64_MAX),
                 "{}: tensor {} of shape {} and strides {} is larger than its storage of {} elements", path_,
                 shown(name), value.sizes, value.strides, storage.integer);
    }
    if (elements == 0) return at::zeros(value.sizes, storage.type);
    LACT_CHECK(elements <= storage.integer,
               "{}: tensor {} of shape {} is larger than its storage of {} elements", path_, shown(name),
               value.sizes, storage.integer);
    LACT_CHECK(
        last < storage.integer,
        "{}: tensor {} of shape {}, strides {} and offset {} reaches beyond its storage of {} elements",
        path_, shown(name), value.sizes, value.strides, value.integer, storage.integer);
    const at::Tensor part =
        storage_tensor(storage, name).as_strided(value.sizes, value.strides, value.integer);
    // The first tensor that is all of a storage becomes its owner; no two tensors share memory.
    if (elements == storage.integer && part.is_contiguous() && owned_.insert(storage.text).second)
      return part;
    copied_ += uint64_t(elements) * c10::elementSize(storage.type);
    LACT_CHECK(copied_ <= kMostCopies * file_->file_bytes() + kAlwaysAllowed,
               "{}: its tensors show the same bytes again and again: with {} they take more than {} times "
               "the {} bytes of the file",
               path_, shown(name), kMostCopies, file_->file_bytes());
    return making(fmt::format("tensor {} of {}", shown(name), path_),
                  [&] { return part.clone(at::MemoryFormat::Contiguous); });
  }

  const at::Tensor& storage_tensor(const PickleValue& storage, const std::string& name) {
    at::Tensor& cached = storages_[storage.text];
    if (cached.defined()) {
      LACT_CHECK(cached.scalar_type() == storage.type && cached.numel() == storage.integer,
                 "{}: storage {} is used with two types or sizes", path_, shown(storage.text));
      return cached;
    }
    const uint64_t bytes = file_->bytes_of(storage.text), width = c10::elementSize(storage.type);
    LACT_CHECK(bytes % width == 0 && bytes / width == uint64_t(storage.integer),
               "{}: storage {} of tensor {} has {} bytes, expected {} elements of {} bytes", path_,
               shown(storage.text), shown(name), bytes, storage.integer, width);
    const at::Tensor read = making(fmt::format("tensor {} of {}", shown(name), path_),
                                   [&] { return at::empty({storage.integer}, storage.type); });
    file_->read(storage.text, read.data_ptr());
    if (storage.type == at::kBool) {
      // Any other byte in a C++ bool is undefined behaviour.
      const auto* first = static_cast<const uint8_t*>(read.data_ptr());
      LACT_CHECK(std::all_of(first, first + bytes, [](uint8_t byte) { return byte <= 1; }),
                 "{}: tensor {} of booleans holds a byte that is neither 0 nor 1", path_, shown(name));
    }
    return cached = read;
  }

  const std::string& path_;
  const WantedTensor& wanted_;
  std::unique_ptr<PtStorages> file_;
  std::map<std::string, at::Tensor> storages_, tensors_;
  std::set<std::string> owned_;  ///< storages that a tensor is all of
  size_t visited_ = 0, num_tensors_ = 0;
  uint64_t copied_ = 0;
};

}  // namespace

std::map<std::string, at::Tensor> read_pt(const std::string& path, const WantedTensor& wanted) {
  return PtTensors(path, wanted).read();
}

}  // namespace lact::io
