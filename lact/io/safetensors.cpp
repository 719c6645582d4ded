#include "lact/io/safetensors.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <bit>
#include <fstream>

#include "lact/base/error.h"
#include "lact/io/atomic_file.h"
#include "lact/io/regular_file.h"
#include "lact/io/safetensors_header.h"

namespace lact::io {

namespace {

static_assert(std::endian::native == std::endian::little, "the format is little endian");

constexpr uint64_t kLengthBytes = 8;

void read_bytes(std::ifstream& stream, const std::string& path, void* bytes, uint64_t count) {
  stream.read(static_cast<char*>(bytes), static_cast<std::streamsize>(count));
  LACT_CHECK(static_cast<uint64_t>(stream.gcount()) == count, "{}: reading gave {} bytes, expected {}", path,
             stream.gcount(), count);
}

SafetensorsHeader read_header(std::ifstream& stream, const std::string& path, uint64_t file_bytes) {
  LACT_CHECK(file_bytes >= kLengthBytes,
             "{}: the file has {} bytes, expected at least {} for a safetensors file", path, file_bytes,
             kLengthBytes);
  uint64_t length = 0;
  read_bytes(stream, path, &length, kLengthBytes);
  LACT_CHECK(length <= kMaxHeaderBytes,
             "{}: is no safetensors file: the header length is {}, expected at most {}", path, length,
             kMaxHeaderBytes);
  LACT_CHECK(length <= file_bytes - kLengthBytes,
             "{}: is no whole safetensors file: the header length is {}, but only {} bytes follow it", path,
             length, file_bytes - kLengthBytes);
  std::string json(length, '\0');
  read_bytes(stream, path, json.data(), length);
  return parse_safetensors_header(path, json, file_bytes - kLengthBytes - length);
}

SafetensorsHeader open_and_read_header(std::ifstream& stream, const std::string& path) {
  const uint64_t file_bytes = regular_file_size(path);
  stream.open(path, std::ios::binary);
  LACT_CHECK(stream, "{}: cannot be opened for reading", path);
  return read_header(stream, path, file_bytes);
}

at::Tensor allocate(const std::string& path, const TensorEntry& entry) {
  try {
    return at::empty(entry.shape, entry.dtype);
  } catch (const std::exception&) {
    fail("{}: there is no memory for the {} bytes of tensor {}", path, entry.end - entry.begin,
         shown(entry.name));
  }
}

at::Tensor read_tensor(std::ifstream& stream, const std::string& path, const TensorEntry& entry) {
  at::Tensor tensor = allocate(path, entry);
  const uint64_t count = entry.end - entry.begin;
  if (count == 0) return tensor;
  read_bytes(stream, path, tensor.data_ptr(), count);
  if (entry.dtype == at::kBool) {
    // Any other byte in a C++ bool is undefined behaviour.
    const auto* bytes = static_cast<const uint8_t*>(tensor.data_ptr());
    const auto* wrong = std::find_if(bytes, bytes + count, [](uint8_t byte) { return byte > 1; });
    LACT_CHECK(wrong == bytes + count, "{}: tensor {} of dtype BOOL holds the byte {}, expected 0 or 1", path,
               shown(entry.name), *wrong);
  }
  return tensor;
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
  std::ifstream stream;
  SafetensorsHeader header = open_and_read_header(stream, path);
  TensorFile file;
  // The entries lie one behind the other, so the stream already stands at each tensor's first byte.
  for (const auto& entry : header.entries) file.tensors[entry.name] = read_tensor(stream, path, entry);
  file.metadata = std::move(header.metadata);
  return file;
}

std::map<std::string, std::string> read_safetensors_metadata(const std::string& path) {
  std::ifstream stream;
  return open_and_read_header(stream, path).metadata;
}

void write_safetensors(const std::string& path, const TensorFile& file) {
  const SafetensorsHeader header = lay_out(path, file);
  const std::string json = format_safetensors_header(path, header);
  write_file_atomically(path, [&](FileWriter& writer) {
    const uint64_t length = json.size();
    writer.write(&length, kLengthBytes);
    writer.write(json);
    for (const auto& entry : header.entries) {
      const at::Tensor& tensor = file.tensors.at(entry.name);
      const at::Tensor dense = tensor.detach().resolve_neg().to(at::kCPU).contiguous();
      writer.write(dense.data_ptr(), dense.nbytes());
    }
  });
}

}  // namespace lact::io
