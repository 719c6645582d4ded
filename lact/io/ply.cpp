#include "lact/io/ply.h"

#include <charconv>
#include <optional>

#include "lact/base/error.h"
#include "lact/io/safetensors_header.h"
#include "lact/io/text_lines.h"

namespace lact::io {

namespace {

constexpr size_t kMostPlyElements = 64, kMostPlyProperties = 256;

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
    size += text ? 2 : bytes_of_ply(property.list ? property.count : property.type);
  return size;
}

class PlyHeaderReader {
 public:
  PlyHeaderReader(const std::string& path, std::string_view text, uint64_t most_elements)
      : lines_(path, text), most_elements_(most_elements) {}

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
                      shown(std::string(word))));
  }

  void read_element() {
    PlyElement element;
    element.name = std::string(lines_.word());
    const std::string_view count = lines_.word();
    const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), element.count);
    if (element.name.empty() || error != std::errc{} || end != count.data() + count.size())
      lines_.mistake("an element is not told as a name and a whole number");
    if (element.count > most_elements_)
      lines_.mistake(fmt::format("{} elements {}, expected at most {}", element.count, shown(element.name),
                                 most_elements_));
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
    if (!type) lines_.mistake(fmt::format("a property has the type {}", shown(std::string(word))));
    return *type;
  }

  TextLines lines_;
  uint64_t most_elements_;
  PlyHeader header_;
};

/// Where the line end_header begins; a comment may hold the word, too.
size_t end_of_header(const std::string& path, std::string_view file) {
  constexpr std::string_view kEnd = "end_header";
  constexpr size_t kLongestHeader = 1 << 20;
  const std::string_view start = file.substr(0, kLongestHeader);
  size_t found = 0;
  while ((found = start.find(kEnd, found + 1)) != std::string_view::npos) {
    if (start[found - 1] != '\n') continue;
    std::string_view rest = start.substr(found + kEnd.size());
    if (rest.starts_with('\r')) rest.remove_prefix(1);
    LACT_CHECK(rest.starts_with('\n'), "{}: the line end_header does not end", path);
    return found;
  }
  fail("{}: the header has no end_header", path);
}

}  // namespace

size_t bytes_of_ply(PlyType type) {
  constexpr size_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 8};
  return sizes[static_cast<size_t>(type)];
}

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

PlyHeader read_ply_header(const std::string& path, std::string_view file, uint64_t most_elements) {
  LACT_CHECK(file.starts_with("ply\n") || file.starts_with("ply\r"),
             "{}: does not begin with the line ply, expected a file in PLY format", path);
  const size_t end = end_of_header(path, file);
  PlyHeader header = PlyHeaderReader(path, file.substr(4, end - 4), most_elements).read();
  header.bytes = file.find('\n', end) + 1;
  uint64_t least = 0;
  for (const auto& element : header.elements) least += element.count * least_size(element, header.text);
  // The last number of a text needs no blank behind it.
  const uint64_t left = file.size() - header.bytes + (header.text ? 1 : 0);
  LACT_CHECK(least <= left, "{}: its elements take at least {} bytes, but {} are left behind the header",
             path, least, left);
  return header;
}

}  // namespace lact::io
