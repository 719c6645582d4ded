#include "lact/io/safetensors.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include "lact/base/error.h"
#include "lact/io/atomic_file.h"
#include "lact/io/mapped_file.h"
#include "lact/io/safetensors_header.h"

namespace lact::io {

namespace {

static_assert(std::endian::native == std::endian::little, "the format is little endian");

constexpr uint64_t kLengthBytes = 8;

SafetensorsHeader read_header(const MappedFile& file, const std::string& path) {
  LACT_CHECK(file.size() >= kLengthBytes,
             "{}: the file has {} bytes, expected at least {} for a safetensors file", path, file.size(),
             kLengthBytes);
  uint64_t length = 0;
  std::memcpy(&length, file.data(), kLengthBytes);
  LACT_CHECK(length <= kMaxHeaderBytes,
             "{}: is no safetensors file: the header length is {}, expected at most {}", path, length,
             kMaxHeaderBytes);
  LACT_CHECK(length <= file.size() - kLengthBytes,
             "{}: is no whole safetensors file: the header length is {}, but only {} bytes follow it", path,
             length, file.size() - kLengthBytes);
  const std::string json(file.data() + kLengthBytes, length);
  return parse_safetensors_header(path, json, file.size() - kLengthBytes - length);
}

void check_bools(const char* bytes, const std::string& path, const TensorEntry& entry) {
  // Any other byte in a C++ bool is undefined behaviour.
  const char* end = bytes + (entry.end - entry.begin);
  const char* wrong = std::find_if(bytes, end, [](char byte) { return uint8_t(byte) > 1; });
  LACT_CHECK(wrong == end, "{}: tensor {} of dtype BOOL holds the byte {}, expected 0 or 1", path,
             shown(entry.name), int(uint8_t(*wrong)));
}

/// The bytes [begin, end) of the file. A tensor that dies gives its pages back.
at::Tensor tensor_in(const std::shared_ptr<const MappedFile>& file, uint64_t begin, uint64_t end,
                     const TensorEntry& entry) {
  if (begin == end) return at::empty(entry.shape, entry.dtype);
  char* bytes = file->data() + begin;
  const auto give_back = [file, begin, end](void*) { file->release(begin, end); };
  if (begin % c10::elementSize(entry.dtype) == 0) {
    return at::from_blob(bytes, entry.shape, give_back, entry.dtype);
  }
  // Other writers than ours leave numbers where a processor may not read them.
  at::Tensor copy = at::empty(entry.shape, entry.dtype);
  std::memcpy(copy.data_ptr(), bytes, end - begin);
  give_back(nullptr);
  return copy;
}

void check_writable(const std::string& path, const std::string& name, const at::Tensor& tensor) {
  LACT_CHECK(tensor.defined(), "{}: cannot be written: tensor {} is undefined", path, shown(name));
  LACT_CHECK(has_safetensors_name(tensor.scalar_type()),
             "{}: cannot be written: tensor {} has dtype {}, which safetensors does not know", path,
             shown(name), toString(tensor.scalar_type()));
  LACT_CHECK(tensor.layout() == at::kStrided && !tensor.is_meta(),
             "{}: cannot be written: tensor {} is sparse or without data, expected a dense tensor", path,
             shown(name));
}

/// Gives every tensor its place in the file.
SafetensorsHeader lay_out(const std::string& path, const TensorFile& file) {
  SafetensorsHeader header{{}, file.metadata};
  for (const auto& [name, tensor] : file.tensors) {
    check_writable(path, name, tensor);
    header.entries.push_back({name, tensor.scalar_type(), tensor.sizes().vec(), 0, tensor.nbytes()});
  }
  // Wide types first: then every tensor is aligned to its element size, which readers that map the file rely
  // on.
  std::stable_sort(header.entries.begin(), header.entries.end(),
                   [](const TensorEntry& a, const TensorEntry& b) {
                     return c10::elementSize(a.dtype) > c10::elementSize(b.dtype);
                   });
  uint64_t position = 0;
  for (auto& entry : header.entries) {
    entry.begin = position;
    entry.end = position += entry.end;
  }
  return header;
}

}  // namespace

TensorFile read_safetensors(const std::string& path) {
  const auto mapped = std::make_shared<const MappedFile>(path);
  SafetensorsHeader header = read_header(*mapped, path);
  const uint64_t data = header.entries.empty() ? 0 : mapped->size() - header.entries.back().end;
  TensorFile file;
  for (const auto& entry : header.entries) {
    if (entry.dtype == at::kBool) check_bools(mapped->data() + data + entry.begin, path, entry);
    file.tensors[entry.name] = tensor_in(mapped, data + entry.begin, data + entry.end, entry);
  }
  file.metadata = std::move(header.metadata);
  return file;
}

std::map<std::string, std::string> read_safetensors_metadata(const std::string& path) {
  return read_header(MappedFile(path), path).metadata;
}

void write_safetensors(const std::string& path, const TensorFile& file, const TensorContents& contents) {
  const SafetensorsHeader header = lay_out(path, file);
  const std::string json = format_safetensors_header(path, header);
  write_file_atomically(path, [&](FileWriter& writer) {
    const uint64_t length = json.size();
    writer.write(&length, kLengthBytes);
    writer.write(json);
    for (const auto& entry : header.entries) {
      const at::Tensor& shape = file.tensors.at(entry.name);
      const at::Tensor tensor = contents ? contents(entry.name, shape) : shape;
      LACT_ASSERT(tensor.sizes() == shape.sizes() && tensor.scalar_type() == shape.scalar_type());
      const at::Tensor dense = tensor.detach().resolve_neg().to(at::kCPU).contiguous();
      writer.write(dense.data_ptr(), dense.nbytes());
    }
  });
}

}  // namespace lact::io
