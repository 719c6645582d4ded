#include "lact/data/views/tracer/obj.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>

#include "lact/base/error.h"
#include "lact/io/image.h"
#include "lact/io/regular_file.h"
#include "lact/io/text_lines.h"

namespace lact::data::tracer {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxObjBytes = uint64_t{1} << 30;
constexpr uint64_t kMaxMtlBytes = uint64_t{1} << 24;

// The triangles of a face are a fan: their boxes lie over one another, and a ray would meet a share of all.
constexpr int kMaxCorners = 1 << 16;

/// A file named inside another one stands beside it; names made on Windows have backslashes.
std::string beside(const std::string& path, std::string_view name) {
  std::string plain(name);
  std::replace(plain.begin(), plain.end(), '\\', '/');
  return (fs::path(path).parent_path() / plain).string();
}

class ObjReader {
 public:
  ObjReader(const std::string& path, std::string_view text) : path_(path), lines_(path, text) {
    data_.materials.emplace_back();
  }

  MeshData read() {
    while (lines_.next_line()) {
      const std::string_view keyword = lines_.word();
      if (keyword == "v") read_position();
      if (keyword == "vt") read_texture_point();
      if (keyword == "vn") read_normal();
      if (keyword == "f") read_face();
      if (keyword == "usemtl") use_material();
      if (keyword == "mtllib") read_library();
    }
    LACT_CHECK(!data_.faces.empty(), "{}: the file holds no faces, expected a mesh in OBJ format", path_);
    return std::move(data_);
  }

 private:
  // A braced list is evaluated from left to right.
  void read_position() {
    limit(data_.positions.size(), "vertices");
    data_.positions.push_back({lines_.number("vertex"), lines_.number("vertex"), lines_.number("vertex")});
    read_colour();
  }

  /// Three more numbers are a colour; one more is a weight, which says nothing here.
  void read_colour() {
    if (lines_.words_left(4) != 3) return;
    data_.colours.resize(data_.positions.size() - 1, {1, 1, 1});
    const auto share = [&] { return static_cast<float>(std::clamp(lines_.number("colour"), 0.0, 1.0)); };
    data_.colours.push_back({share(), share(), share()});
    data_.materials.front().colour = {1, 1, 1};
  }

  void read_texture_point() {
    limit(data_.texture_points.size(), "texture coordinates");
    const auto u = static_cast<float>(lines_.number("texture coordinate"));
    const auto v =
        lines_.remainder().empty() ? 0.0F : static_cast<float>(lines_.number("texture coordinate"));
    data_.texture_points.push_back({u, v});
  }

  void read_normal() {
    limit(data_.normals.size(), "normals");
    data_.normals.push_back({static_cast<float>(lines_.number("normal")),
                             static_cast<float>(lines_.number("normal")),
                             static_cast<float>(lines_.number("normal"))});
  }

  void read_face() {
    MeshFace face;
    face.material = material_;
    int corners = 0;
    for (std::string_view word = lines_.word(); !word.empty(); word = lines_.word(), ++corners) {
      const MeshCorner corner = corner_of(word);
      if (corners < 2) {
        face.corners[static_cast<size_t>(corners)] = corner;
        continue;
      }
      limit(data_.faces.size(), "triangles");
      if (corners == kMaxCorners) lines_.mistake(fmt::format("face has more than {} corners", kMaxCorners));
      face.corners[2] = corner;
      data_.faces.push_back(face);
      face.corners[1] = corner;
    }
    if (corners < 3) lines_.mistake(fmt::format("face has {} corners, expected at least 3", corners));
  }

  MeshCorner corner_of(std::string_view word) {
    MeshCorner corner;
    corner.position = index_of(next_part(word), data_.positions.size(), "vertex");
    if (static_cast<size_t>(corner.position) < data_.colours.size()) corner.colour = corner.position;
    if (const auto part = next_part(word); !part.empty()) {
      corner.texture = index_of(part, data_.texture_points.size(), "texture coordinate");
    }
    if (const auto part = next_part(word); !part.empty()) {
      corner.normal = index_of(part, data_.normals.size(), "normal");
    }
    if (!word.empty()) lines_.mistake("face has a corner with more than three indices");
    return corner;
  }

  static std::string_view next_part(std::string_view& word) {
    const std::string_view part = word.substr(0, word.find('/'));
    word.remove_prefix(std::min(part.size() + 1, word.size()));
    return part;
  }

  /// 1 is the first item, -1 the last one so far.
  int index_of(std::string_view text, size_t count, std::string_view what) {
    long value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) {
      lines_.mistake(fmt::format("face has a {} index that is not a whole number", what));
    }
    const auto items = static_cast<long>(count);
    if (value == 0 || value > items || value < -items) {
      lines_.mistake(fmt::format("face refers to {} {}, but {} were given before it", what, value, count));
    }
    return static_cast<int>(value > 0 ? value - 1 : items + value);
  }

  void limit(size_t count, std::string_view what) {
    if (count >= kMaxMeshItems) lines_.mistake(fmt::format("more than {} {}", kMaxMeshItems, what));
  }

  void use_material() {
    const auto found = by_name_.find(lines_.remainder());
    material_ = found == by_name_.end() ? 0 : found->second;
  }

  void read_library() {
    const std::string library = beside(path_, lines_.remainder());
    std::error_code ignored;
    if (!libraries_.insert(library).second || !fs::is_regular_file(library, ignored)) return;
    for (MeshMaterial& material : read_mtl(library)) {
      limit(data_.materials.size(), "materials");
      by_name_.emplace(material.name,
                       static_cast<int>(data_.materials.size()));  // the first of a name counts
      data_.materials.push_back(std::move(material));
    }
  }

  std::string path_;
  io::TextLines lines_;
  MeshData data_;
  int material_ = 0;
  std::map<std::string, int, std::less<>> by_name_;  ///< place in the materials
  std::set<std::string> libraries_;                  ///< that were read
};

}  // namespace

MeshData read_obj(const std::string& path) {
  const std::string text = io::read_whole_file(path, kMaxObjBytes);
  return ObjReader(path, text).read();
}

std::vector<MeshMaterial> read_mtl(const std::string& path, int64_t max_texels) {
  const std::string text = io::read_whole_file(path, kMaxMtlBytes);
  io::TextLines lines(path, text);
  std::vector<MeshMaterial> materials;
  TextureSet textures(max_texels);
  while (lines.next_line()) {
    const std::string_view keyword = lines.word();
    if (keyword == "newmtl")
      materials.push_back({std::string(lines.remainder()), {0.8F, 0.8F, 0.8F}, nullptr});
    if (keyword != "Kd" && keyword != "map_Kd") continue;
    if (materials.empty()) lines.mistake(fmt::format("{} comes before any newmtl", keyword));
    MeshMaterial& material = materials.back();
    if (keyword == "Kd") {
      const auto share = [&] { return static_cast<float>(std::clamp(lines.number("Kd"), 0.0, 1.0)); };
      material.colour = {share(), share(), share()};
      continue;
    }
    std::string_view name = lines.remainder();
    if (name.empty()) lines.mistake("map_Kd names no file");
    // Options such as "-s 1 1 1" come first; a name with blanks is taken whole where there are none.
    if (name.front() == '-') name.remove_prefix(name.find_last_of(" \t") + 1);
    const std::string file = beside(path, name);
    material.texture =
        textures.get(file, file, [&] { return io::read_whole_file(file, io::kMaxImageFileBytes); });
  }
  return materials;
}

}  // namespace lact::data::tracer
