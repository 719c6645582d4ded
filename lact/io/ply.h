// What a PLY file consists of: the header's elements and their properties, and the values one after the
// other, whether they are text or bytes.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lact::io {

enum class PlyType { int8, uint8, int16, uint16, int32, uint32, float32, float64 };

size_t bytes_of_ply(PlyType type);

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

/// Checks that the rest of the file can hold as many elements as are told, `most_elements` of a kind.
PlyHeader read_ply_header(const std::string& path, std::string_view file, uint64_t most_elements);

/// Where the values of a property go: that of element i to to[i * stride]. Null: it is passed over.
struct PlyColumn {
  float* to = nullptr;
  int64_t stride = 1;
};

class PlyValues {
 public:
  PlyValues(const std::string& path, std::string_view rest, const PlyHeader& header)
      : path_(path), rest_(rest), text_(header.text), order_(header.order) {}

  /// Finite, at most 1e18; `what` is for the sentence.
  double number(PlyType type, std::string_view what);
  /// Not negative, at most `most`.
  int64_t whole(PlyType type, std::string_view what, int64_t most);
  /// All elements of a kind: a column for each of its properties, lists without a place to go to. Finite
  /// numbers of at most 1e18.
  void read(const PlyElement& element, const std::vector<PlyColumn>& columns);
  /// Passes over a property, or over all elements of a kind.
  void skip(const PlyProperty& property);
  void skip(const PlyElement& element);
  /// Throws where bytes, or in a text more than blanks, are left.
  void expect_end() const;

 private:
  bool read_records(const PlyElement& element, const std::vector<PlyColumn>& columns);
  double bytes(PlyType type);
  double word(std::string_view what);

  const std::string& path_;
  std::string_view rest_;
  bool text_;
  std::endian order_;
};

}  // namespace lact::io
