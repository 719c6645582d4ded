// What a PLY file consists of: the header's elements and their properties, and the values one after the
// other, whether they are text or bytes.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lact::data::tracer {

enum class PlyType { int8, uint8, int16, uint16, int32, uint32, float32, float64 };

struct PlyProperty {
  std::string name;
  PlyType type = PlyType::float32;
  bool list = false;
  PlyType count = PlyType::uint8;  ///< of a list
};

struct PlyElement {
  std::string name;
  uint64_t count = 0;
  std::vector<PlyProperty> properties;

  /// -1 where there is none.
  int find(std::string_view property) const;
};

struct PlyHeader {
  bool text = false;
  std::endian order = std::endian::little;
  std::vector<PlyElement> elements;
  std::string texture;  ///< the comment TextureFile
  size_t bytes = 0;     ///< of the header

  /// Null where there is none.
  const PlyElement* find(std::string_view element) const;
};

/// Checks that the rest of the file can hold as many elements as are told.
PlyHeader read_ply_header(const std::string& path, std::string_view file);

class PlyValues {
 public:
  PlyValues(const std::string& path, std::string_view rest, const PlyHeader& header)
      : path_(path), rest_(rest), text_(header.text), order_(header.order) {}

  /// Finite, at most 1e18; `what` is for the sentence.
  double number(PlyType type, std::string_view what);
  /// Not negative, at most `most`.
  int64_t whole(PlyType type, std::string_view what, int64_t most);
  /// Passes over a property.
  void skip(const PlyProperty& property);

 private:
  double bytes(PlyType type);
  double word(std::string_view what);

  const std::string& path_;
  std::string_view rest_;
  bool text_;
  std::endian order_;
};

}  // namespace lact::data::tracer
