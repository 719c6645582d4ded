#include "lact/data/views/tracer/ply_elements.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>

#include "lact/base/error.h"
#include "lact/data/views/tracer/mesh.h"
#include "lact/data/views/tracer/obj.h"
#include "lact/io/safetensors_header.h"

namespace lact::data::tracer {

namespace {

constexpr size_t kMostPlyElements = 64, kMostPlyProperties = 256;

size_t bytes_of(PlyType type) {
  constexpr size_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 8};
  return sizes[static_cast<size_t>(type)];
}

std::optional<PlyType> ply_type(std::string_view word) {
  static const std::vector<std::pair<std::string_view, PlyType>> words = {
      {"char", PlyType::int8},      {"int8", PlyType::int8},       {"uchar", PlyType::uint8},
      {"uint8", PlyType::uint8},    {"short", PlyType::int16},     {"int16", PlyType::int16},
      {"ushort", PlyType::uint16},  {"uint16", PlyType::uint16},   {"int", PlyType::int32},
      {"int32", PlyType::int32},    {"uint", PlyType::uint32},     {"uint32", PlyType::uint32},
      {"float", PlyType::float32},  {"float32", PlyType::float32}, {"double", PlyType::float64},
      {"float64", PlyType::float64}};
  for (const auto& [name, type] : words)
    if (name == word) return type;
  return std::nullopt;
}

/// Bytes, or characters with a blank behind each number, that an element takes at least.
uint64_t least_size(const PlyElement& element, bool text) {
  uint64_t size = 0;
  for (const auto& property : element.properties)
    size += text ? 2 : bytes_of(property.list ? property.count : property.type);
  return size;
}

class HeaderReader {
 public:
  HeaderReader(const std::string& path, std::string_view text) : lines_(path, text) {}

  PlyHeader read() {
    bool format = false;
    while (lines_.next_line()) {
      const std::string_view keyword = lines_.word();
      if (keyword == "format") {
        read_format();
        format = true;
      }
      if (keyword == "comment" && lines_.word() == "TextureFile" && header_.texture.empty())
        header_.texture = std::string(lines_.remainder());
      if (keyword == "element") read_element();
      if (keyword == "property") read_property();
    }
    if (!format) lines_.mistake("the header has no format");
    return std::move(header_);
  }

 private:
  void read_format() {
    const std::string_view word = lines_.word();
    header_.text = word == "ascii";
    header_.order = word == "binary_big_endian" ? std::endian::big : std::endian::little;
    if (!header_.text && word != "binary_little_endian" && word != "binary_big_endian")
      lines_.mistake(
          fmt::format("the format is {}, expected ascii, binary_little_endian or binary_big_endian",
                      io::shown(std::string(word))));
  }

  void read_element() {
    PlyElement element;
    element.name = std::string(lines_.word());
    const std::string_view count = lines_.word();
    const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), element.count);
    if (element.name.empty() || error != std::errc{} || end != count.data() + count.size())
      lines_.mistake("an element is not told as a name and a whole number");
    if (element.count > kMaxMeshItems)
      lines_.mistake(fmt::format("{} elements {}, expected at most {}", element.count,
                                 io::shown(element.name), kMaxMeshItems));
    if (header_.elements.size() >= kMostPlyElements)
      lines_.mistake(fmt::format("more than {} kinds of elements", kMostPlyElements));
    header_.elements.push_back(std::move(element));
  }

  void read_property() {
    if (header_.elements.empty()) lines_.mistake("a property comes before any element");
    auto& properties = header_.elements.back().properties;
    if (properties.size() >= kMostPlyProperties)
      lines_.mistake(fmt::format("more than {} properties of an element", kMostPlyProperties));
    PlyProperty property;
    std::string_view word = lines_.word();
    property.list = word == "list";
    if (property.list) {
      property.count = type_of(lines_.word());
      if (property.count == PlyType::float32 || property.count == PlyType::float64)
        lines_.mistake("the length of a list is not a whole number");
      word = lines_.word();
    }
    property.type = type_of(word);
    property.name = std::string(lines_.word());
    if (property.name.empty()) lines_.mistake("a property has no name");
    properties.push_back(std::move(property));
  }

  PlyType type_of(std::string_view word) {
    const auto type = ply_type(word);
    if (!type) lines_.mistake(fmt::format("a property has the type {}", io::shown(std::string(word))));
    return *type;
  }

  ObjLines lines_;
  PlyHeader header_;
};

}  // namespace

int PlyElement::find(std::string_view property) const {
  for (size_t i = 0; i < properties.size(); ++i)
    if (properties[i].name == property) return static_cast<int>(i);
  return -1;
}

const PlyElement* PlyHeader::find(std::string_view element) const {
  for (const auto& one : elements)
    if (one.name == element) return &one;
  return nullptr;
}

PlyHeader read_ply_header(const std::string& path, std::string_view file) {
  constexpr std::string_view kEnd = "end_header";
  constexpr size_t kLongestHeader = 1 << 20;
  LACT_CHECK(file.starts_with("ply\n") || file.starts_with("ply\r"),
             "{}: does not begin with the line ply, expected a mesh in PLY format", path);
  const size_t end = file.substr(0, kLongestHeader).find(kEnd);
  LACT_CHECK(end != std::string_view::npos, "{}: the header has no end_header", path);
  size_t bytes = end + kEnd.size();
  if (bytes < file.size() && file[bytes] == '\r') ++bytes;
  LACT_CHECK(bytes < file.size() && file[bytes] == '\n', "{}: the line end_header does not end", path);
  PlyHeader header = HeaderReader(path, file.substr(4, end - 4)).read();
  header.bytes = bytes + 1;
  uint64_t least = 0;
  for (const auto& element : header.elements) least += element.count * least_size(element, header.text);
  // The last number of a text needs no blank behind it.
  const uint64_t left = file.size() - header.bytes + (header.text ? 1 : 0);
  LACT_CHECK(least <= left, "{}: its elements take at least {} bytes, but {} are left behind the header",
             path, least, left);
  return header;
}

double PlyValues::bytes(PlyType type) {
  const size_t size = bytes_of(type);
  LACT_CHECK(rest_.size() >= size, "{}: the file ends in the middle", path_);
  char raw[8];
  std::memcpy(raw, rest_.data(), size);
  rest_.remove_prefix(size);
  if (order_ != std::endian::native) std::reverse(raw, raw + size);
  const auto as = [&](auto value) {
    std::memcpy(&value, raw, sizeof(value));
    return static_cast<double>(value);
  };
  switch (type) {
    case PlyType::int8:
      return as(int8_t{});
    case PlyType::uint8:
      return as(uint8_t{});
    case PlyType::int16:
      return as(int16_t{});
    case PlyType::uint16:
      return as(uint16_t{});
    case PlyType::int32:
      return as(int32_t{});
    case PlyType::uint32:
      return as(uint32_t{});
    case PlyType::float32:
      return as(float{});
    case PlyType::float64:
      break;
  }
  return as(double{});
}

double PlyValues::word(std::string_view what) {
  constexpr std::string_view kBetween = " \t\r\n";
  rest_.remove_prefix(std::min(rest_.find_first_not_of(kBetween), rest_.size()));
  const std::string_view word = rest_.substr(0, rest_.find_first_of(kBetween));
  LACT_CHECK(!word.empty(), "{}: the file ends in the middle", path_);
  rest_.remove_prefix(word.size());
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  LACT_CHECK(error == std::errc{} && end == word.data() + word.size(), "{}: {} has {}, expected a number",
             path_, what, io::shown(std::string(word)));
  return value;
}

double PlyValues::number(PlyType type, std::string_view what) {
  const double value = text_ ? word(what) : bytes(type);
  LACT_CHECK(std::isfinite(value) && std::fabs(value) <= 1e18, "{}: {} has {}, expected a number within 1e18",
             path_, what, value);
  return value;
}

int64_t PlyValues::whole(PlyType type, std::string_view what, int64_t most) {
  const double value = number(type, what);
  LACT_CHECK(value >= 0 && value <= static_cast<double>(most) && value == std::floor(value),
             "{}: {} has {}, expected a whole number from 0 to {}", path_, what, value, most);
  return static_cast<int64_t>(value);
}

void PlyValues::skip(const PlyProperty& property) {
  const int64_t count =
      property.list ? whole(property.count, property.name, std::numeric_limits<uint32_t>::max()) : 1;
  for (int64_t i = 0; i < count; ++i) text_ ? word(property.name) : bytes(property.type);
}

}  // namespace lact::data::tracer
