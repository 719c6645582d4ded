// The JSON header of a safetensors file, to and from checked values; no tensor is touched here.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lact::io {

struct TensorEntry {
  std::string name;
  at::ScalarType dtype = at::kFloat;
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0;  // bytes after the header
};

struct SafetensorsHeader {
  std::vector<TensorEntry> entries;  // in the order of their bytes
  std::map<std::string, std::string> metadata;
};

constexpr uint64_t kMaxHeaderBytes = 100'000'000;

/// Whether the format has a name for this type.
bool has_safetensors_name(at::ScalarType dtype);

/// A name or value from a file, quoted, escaped and shortened for an error sentence.
std::string shown(const std::string& text);

/// Checks that the entries are well formed and fill the `data_bytes` bytes after the header exactly, without
/// gap or overlap. `path` is for errors.
SafetensorsHeader parse_safetensors_header(const std::string& path, const std::string& json,
                                           uint64_t data_bytes);

/// The JSON text, entries sorted by name, padded with spaces to a multiple of 8 bytes.
std::string format_safetensors_header(const std::string& path, const SafetensorsHeader& header);

}  // namespace lact::io
