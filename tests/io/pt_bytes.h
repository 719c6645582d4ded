// Files of PyTorch's torch.save, put together from the words of the pickle format.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lact::io {

template <class Number>
std::string bytes_of(Number number) {
  return {reinterpret_cast<const char*>(&number), sizeof(number)};
}

// Words of the pickle format.
inline std::string text(const std::string& value) { return "X" + bytes_of(uint32_t(value.size())) + value; }
inline std::string whole(int64_t value) { return "\x8a\x08" + bytes_of(value); }
inline std::string tuple(const std::vector<int64_t>& values) {
  std::string words = "(";
  for (const int64_t value : values) words += whole(value);
  return words + "t";
}
inline std::string storage(const std::string& type, const std::string& key, int64_t elements) {
  return "(" + text("storage") + "ctorch\n" + type + "\n" + text(key) + text("cpu") + whole(elements) + "tQ";
}
inline std::string tensor(const std::string& from, int64_t offset, const std::vector<int64_t>& sizes,
                          const std::vector<int64_t>& strides) {
  return "ctorch._utils\n_rebuild_tensor_v2\n(" + from + whole(offset) + tuple(sizes) + tuple(strides) +
         "\x89" + "ccollections\nOrderedDict\n)RtR";
}
inline std::string dict(const std::string& pairs) { return "}(" + pairs + "u"; }
inline std::string pickle(const std::string& words) { return std::string("\x80\x02") + words + "."; }

inline std::string floats(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

/// A file as PyTorch before 1.6 wrote it: `words` of what was saved, the keys of the storages, and of each
/// the number of its elements and their bytes.
struct PtStorageBytes {
  std::string key;
  uint64_t elements = 0;
  std::string bytes;
};
inline std::string pt_stream(const std::string& words, const std::vector<PtStorageBytes>& storages,
                             const std::string& version = "M\xe9\x03", const std::string& little = "\x88") {
  std::string keys = "](", behind;
  for (const auto& one : storages) {
    keys += text(one.key);
    behind += bytes_of(one.elements) + one.bytes;
  }
  return std::string("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15) + pickle(version) +
         pickle(dict(text("little_endian") + little)) + pickle(words) + pickle(keys + "e") + behind;
}

}  // namespace lact::io
