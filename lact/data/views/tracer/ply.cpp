#include "lact/data/views/tracer/ply.h"

#include <algorithm>
#include <filesystem>

#include "lact/base/error.h"
#include "lact/io/image.h"
#include "lact/io/ply.h"
#include "lact/io/regular_file.h"

namespace lact::data::tracer {

namespace {

using io::PlyElement;
using io::PlyProperty;
using io::PlyType;

constexpr uint64_t kMaxPlyBytes = uint64_t{1} << 30;
constexpr int64_t kMostPlyCorners = 1 << 16;  // as of an OBJ

/// The place of the first of these properties, or -1.
int first_of(const PlyElement& element, std::initializer_list<std::string_view> names) {
  for (const auto name : names)
    if (const int found = element.find(name); found >= 0) return found;
  return -1;
}

class PlyReader {
 public:
  PlyReader(const std::string& path, std::string_view file)
      : path_(path),
        header_(io::read_ply_header(path, file, kMaxMeshItems)),
        values_(path, file.substr(header_.bytes), header_) {}

  MeshData read() {
    const PlyElement *vertices = header_.find("vertex"), *faces = header_.find("face");
    LACT_CHECK(vertices != nullptr && faces != nullptr && faces->count > 0,
               "{}: the file holds no faces, expected a mesh of elements vertex and face", path_);
    data_.materials.emplace_back();
    read_texture();
    for (const PlyElement& element : header_.elements) {
      if (&element == vertices) {
        read_vertices(element);
      } else if (&element == faces) {
        read_faces(element);
      } else {
        values_.skip(element);
      }
    }
    return std::move(data_);
  }

 private:
  void read_texture() {
    if (header_.texture.empty()) return;
    const std::string file = (std::filesystem::path(path_).parent_path() / header_.texture).string();
    data_.materials[0].texture = std::make_shared<const TexturePyramid>(tracer::read_texture(file));
  }

  void read_vertices(const PlyElement& element) {
    const int place[] = {element.find("x"), element.find("y"), element.find("z")};
    const int normal[] = {element.find("nx"), element.find("ny"), element.find("nz")};
    const int colour[] = {first_of(element, {"red", "diffuse_red"}),
                          first_of(element, {"green", "diffuse_green"}),
                          first_of(element, {"blue", "diffuse_blue"})};
    const int texture[] = {first_of(element, {"s", "u", "texture_u"}),
                           first_of(element, {"t", "v", "texture_v"})};
    const auto all = [](const auto& places) {
      return std::all_of(std::begin(places), std::end(places), [](int one) { return one >= 0; });
    };
    LACT_CHECK(all(place), "{}: vertices have no x, y and z", path_);
    const bool has_normals = all(normal);
    has_colours_ = all(colour);
    has_points_ = all(texture);
    if (has_colours_) data_.materials[0].colour = {1, 1, 1};
    std::vector<double> row(element.properties.size());
    const auto triple = [&](const int(&of)[3]) {
      return Vec<double>{row[size_t(of[0])], row[size_t(of[1])], row[size_t(of[2])]};
    };
    for (uint64_t i = 0; i < element.count; ++i) {
      for (size_t k = 0; k < row.size(); ++k) {
        const PlyProperty& property = element.properties[k];
        if (property.list) {
          values_.skip(property);
        } else {
          row[k] = values_.number(property.type, property.name);
        }
      }
      data_.positions.push_back(triple(place));
      if (has_normals) data_.normals.push_back(as_floats(triple(normal)));
      if (has_colours_)
        data_.colours.push_back(share_of(triple(colour), element.properties[size_t(colour[0])].type));
      if (has_points_)
        data_.texture_points.push_back({float(row[size_t(texture[0])]), float(row[size_t(texture[1])])});
    }
  }

  static Vec3 as_floats(const Vec<double>& vector) {
    return {static_cast<float>(vector.x), static_cast<float>(vector.y), static_cast<float>(vector.z)};
  }

  /// Whole numbers are bytes, or 16 bits; others shares.
  static Vec3 share_of(const Vec<double>& colour, PlyType type) {
    const bool real = type == PlyType::float32 || type == PlyType::float64;
    const double most = real ? 1 : type == PlyType::uint16 ? 65535 : 255;
    const auto share = [&](double value) { return std::clamp(value / most, 0.0, 1.0); };
    return as_floats({share(colour.x), share(colour.y), share(colour.z)});
  }

  void read_faces(const PlyElement& element) {
    const int indices = first_of(element, {"vertex_indices", "vertex_index"});
    LACT_CHECK(indices >= 0 && element.properties[size_t(indices)].list,
               "{}: faces have no list vertex_indices", path_);
    const int texcoord = element.find("texcoord");
    std::vector<int> corners;
    std::vector<double> points;
    for (uint64_t i = 0; i < element.count; ++i) {
      points.clear();
      for (size_t k = 0; k < element.properties.size(); ++k) {
        const PlyProperty& property = element.properties[k];
        if (int(k) == indices) {
          read_indices(property, corners);
        } else if (int(k) == texcoord && property.list) {
          points.resize(size_t(values_.whole(property.count, property.name, 2 * kMostPlyCorners)));
          for (double& value : points) value = values_.number(property.type, property.name);
        } else {
          values_.skip(property);
        }
      }
      add_face(corners, points);
    }
  }

  void read_indices(const PlyProperty& property, std::vector<int>& corners) {
    LACT_CHECK(!data_.positions.empty(), "{}: faces come before vertices", path_);
    const int64_t count = values_.whole(property.count, property.name, kMostPlyCorners);
    LACT_CHECK(count >= 3, "{}: a face has {} corners, expected at least 3", path_, count);
    corners.clear();
    for (int64_t k = 0; k < count; ++k)
      corners.push_back(
          int(values_.whole(property.type, property.name, int64_t(data_.positions.size()) - 1)));
  }

  /// A fan.
  void add_face(const std::vector<int>& corners, const std::vector<double>& points) {
    const bool own_points = points.size() == 2 * corners.size();
    const size_t first_point = data_.texture_points.size();
    LACT_CHECK(first_point + corners.size() <= 4 * kMaxMeshItems, "{}: more than {} texture coordinates",
               path_, 4 * kMaxMeshItems);
    for (size_t k = 0; own_points && k < corners.size(); ++k)
      data_.texture_points.push_back({float(points[2 * k]), float(points[2 * k + 1])});
    const auto corner = [&](size_t k) {
      MeshCorner one;
      one.position = corners[k];
      if (!data_.normals.empty()) one.normal = one.position;
      if (has_colours_) one.colour = one.position;
      if (own_points) {
        one.texture = int(first_point + k);
      } else if (has_points_) {
        one.texture = one.position;
      }
      return one;
    };
    for (size_t k = 2; k < corners.size(); ++k) {
      LACT_CHECK(data_.faces.size() < kMaxMeshItems, "{}: more than {} triangles", path_, kMaxMeshItems);
      data_.faces.push_back({{corner(0), corner(k - 1), corner(k)}, 0});
    }
  }

  const std::string& path_;
  io::PlyHeader header_;
  io::PlyValues values_;
  MeshData data_;
  bool has_colours_ = false, has_points_ = false;  ///< of the vertices
};

}  // namespace

MeshData read_ply(const std::string& path) {
  const std::string file = io::read_whole_file(path, kMaxPlyBytes);
  return PlyReader(path, file).read();
}

}  // namespace lact::data::tracer
