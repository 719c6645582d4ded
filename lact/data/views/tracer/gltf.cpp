#include "lact/data/views/tracer/gltf.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "lact/base/error.h"
#include "lact/data/views/tracer/gltf_document.h"
#include "lact/data/views/tracer/gltf_library.h"

namespace lact::data::tracer {

namespace {

constexpr int kDeepestNode = 64;
constexpr int64_t kMostNodes = 1 << 20;  // visited: a node may be the child of several

// A mesh may stand in many places. Together they have so many times the file's triangles, at most.
constexpr size_t kMostInstances = 4, kAlwaysAllowedTriangles = 1'000'000;

/// Three rows of four: x -> A x + b.
using Transform = std::array<std::array<double, 4>, 3>;
constexpr Transform kIdentity = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};

Transform product(const Transform& a, const Transform& b) {
  Transform result{};
  for (size_t i = 0; i < 3; ++i) {
    for (size_t j = 0; j < 4; ++j) {
      result[i][j] = j == 3 ? a[i][3] : 0;
      for (size_t k = 0; k < 3; ++k) result[i][j] += a[i][k] * b[k][j];
    }
  }
  return result;
}

Vec<double> moved(const Transform& a, const Vec<double>& p) {
  const auto row = [&](size_t i) { return a[i][0] * p.x + a[i][1] * p.y + a[i][2] * p.z + a[i][3]; };
  return {row(0), row(1), row(2)};
}

/// Normals move by the cofactors of the matrix; their length means nothing.
Vec3 moved_normal(const Transform& a, const Vec<double>& n) {
  const Vec<double> x{a[0][0], a[0][1], a[0][2]}, y{a[1][0], a[1][1], a[1][2]}, z{a[2][0], a[2][1], a[2][2]};
  const Vec<double> turned{dot(cross(y, z), n), dot(cross(z, x), n), dot(cross(x, y), n)};
  const double size = std::sqrt(dot(turned, turned));
  if (!(size > 0) || !std::isfinite(size)) return {0, 0, 0};
  return {float(turned.x / size), float(turned.y / size), float(turned.z / size)};
}

Transform transform_of(const tinygltf::Node& node) {
  Transform result = kIdentity;
  if (node.matrix.size() == 16) {
    for (size_t i = 0; i < 3; ++i)
      for (size_t j = 0; j < 4; ++j) result[i][j] = node.matrix[j * 4 + i];  // by columns
    return result;
  }
  const auto& turn = node.rotation;
  if (turn.size() == 4) {
    const double x = turn[0], y = turn[1], z = turn[2], w = turn[3];
    result = {{{1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w), 0},
               {2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w), 0},
               {2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y), 0}}};
  }
  for (size_t i = 0; i < 3; ++i) {
    for (size_t j = 0; j < 3 && node.scale.size() == 3; ++j) result[i][j] *= node.scale[j];
    if (node.translation.size() == 3) result[i][3] = node.translation[i];
  }
  return result;
}

/// Colours of materials and vertices are linear in glTF; here they have the gamma of 2 that the tracer shows.
float shown_share(double linear) { return static_cast<float>(std::sqrt(std::clamp(linear, 0.0, 1.0))); }

/// A material, and by what its texture is multiplied.
struct GltfLook {
  int material = 0;
  Vec3 tint{1, 1, 1};
  std::string texture_points;  ///< the attribute; "" without a texture
};

class GltfReader {
 public:
  explicit GltfReader(const std::string& path) : document_(path), model_(document_.model()), path_(path) {
    data_.up = Up::kY;
    data_.materials.push_back({"", {1, 1, 1}, nullptr});
  }

  MeshData read() {
    for (const int root : roots()) add_node(root, kIdentity, 0);
    LACT_CHECK(!data_.faces.empty(), "{}: the scene holds no triangles", path_);
    return std::move(data_);
  }

 private:
  /// Of the scene that is to be shown, or of all nodes where there is none.
  std::vector<int> roots() const {
    if (!model_.scenes.empty()) {
      const int scene = std::max(model_.defaultScene, 0);
      LACT_CHECK(static_cast<size_t>(scene) < model_.scenes.size(), "{}: scene is {}, but there are {}",
                 path_, scene, model_.scenes.size());
      return model_.scenes[static_cast<size_t>(scene)].nodes;
    }
    std::vector<bool> child(model_.nodes.size(), false);
    for (const auto& node : model_.nodes)
      for (const int index : node.children)
        if (index >= 0 && static_cast<size_t>(index) < child.size()) child[static_cast<size_t>(index)] = true;
    std::vector<int> found;
    for (size_t i = 0; i < child.size(); ++i)
      if (!child[i]) found.push_back(static_cast<int>(i));
    return found;
  }

  void add_node(int index, const Transform& parent, int depth) {
    LACT_CHECK(index >= 0 && static_cast<size_t>(index) < model_.nodes.size(),
               "{}: node {} is named, but there are {}", path_, index, model_.nodes.size());
    LACT_CHECK(depth <= kDeepestNode && ++visited_ <= kMostNodes,
               "{}: its nodes lie more than {} deep or are more than {}", path_, kDeepestNode, kMostNodes);
    const tinygltf::Node& node = model_.nodes[static_cast<size_t>(index)];
    const Transform own = product(parent, transform_of(node));
    if (node.mesh >= 0) {
      LACT_CHECK(static_cast<size_t>(node.mesh) < model_.meshes.size(),
                 "{}: nodes.{} is mesh {}, but there are {}", path_, index, node.mesh, model_.meshes.size());
      const auto& primitives = model_.meshes[static_cast<size_t>(node.mesh)].primitives;
      const bool again = !shown_.insert(node.mesh).second;
      const size_t before = data_.faces.size();
      for (size_t i = 0; i < primitives.size(); ++i)
        add_primitive(primitives[i], own, fmt::format("meshes.{}.primitives.{}", node.mesh, i), again);
      if (!again) unique_ += data_.faces.size() - before;
    }
    for (const int child : node.children) add_node(child, own, depth + 1);
  }

  void add_primitive(const tinygltf::Primitive& primitive, const Transform& place, const std::string& where,
                     bool again) {
    const bool triangles =
        primitive.mode >= TINYGLTF_MODE_TRIANGLES && primitive.mode <= TINYGLTF_MODE_TRIANGLE_FAN;
    const auto attribute = [&](const std::string& name) {
      const auto found = primitive.attributes.find(name);
      return found == primitive.attributes.end() ? -1 : found->second;
    };
    if (!triangles || attribute("POSITION") < 0) return;
    const GltfNumbers positions = document_.numbers(attribute("POSITION"), 3, 3, where + ".POSITION");
    const auto of_vertices = [&](const std::string& name, int64_t least, int64_t most) -> GltfNumbers {
      if (name.empty() || attribute(name) < 0) return {};
      GltfNumbers found = document_.numbers(attribute(name), least, most, where + "." + name);
      LACT_CHECK(found.count == positions.count, "{}: {}.{} has {} items, but there are {} positions", path_,
                 where, name, found.count, positions.count);
      return found;
    };
    const GltfLook look = look_of(primitive.material, where);
    const GltfNumbers normals = of_vertices("NORMAL", 3, 3), colours = of_vertices("COLOR_0", 3, 4),
                      points = of_vertices(look.texture_points, 2, 2);
    const Bases bases = add_vertices(place, positions, normals, colours, points, look);
    std::vector<int64_t> order;
    if (primitive.indices >= 0) {
      const GltfNumbers indices = document_.numbers(primitive.indices, 1, 1, where + ".indices");
      for (const double index : indices.values) {
        LACT_CHECK(index >= 0 && index < double(positions.count) && index == std::floor(index),
                   "{}: {}.indices has {}, but there are {} positions", path_, where, index, positions.count);
        order.push_back(static_cast<int64_t>(index));
      }
    } else {
      for (int64_t i = 0; i < positions.count; ++i) order.push_back(i);
    }
    add_triangles(order, primitive.mode, look.material, bases, again);
  }

  /// Where the vertices of a primitive begin in the lists; -1: it has none of the kind.
  struct Bases {
    int64_t position = 0, normal = -1, colour = -1, point = -1;
    bool one_colour = false;
  };

  Bases add_vertices(const Transform& place, const GltfNumbers& positions, const GltfNumbers& normals,
                     const GltfNumbers& colours, const GltfNumbers& points, const GltfLook& look) {
    LACT_CHECK(data_.positions.size() + static_cast<size_t>(positions.count) <= kMaxMeshItems,
               "{}: more than {} vertices", path_, kMaxMeshItems);
    Bases bases;
    bases.position = static_cast<int64_t>(data_.positions.size());
    if (normals.count > 0) bases.normal = static_cast<int64_t>(data_.normals.size());
    if (points.count > 0) bases.point = static_cast<int64_t>(data_.texture_points.size());
    const bool tinted = look.tint.x != 1 || look.tint.y != 1 || look.tint.z != 1;
    if (colours.count > 0 || tinted) bases.colour = static_cast<int64_t>(data_.colours.size());
    bases.one_colour = colours.count == 0;
    if (tinted && bases.one_colour) data_.colours.push_back(look.tint);
    for (int64_t i = 0; i < positions.count; ++i) {
      const auto triple = [&](const GltfNumbers& of) {
        return Vec<double>{of.at(i, 0), of.at(i, 1), of.at(i, 2)};
      };
      const Vec<double> point = moved(place, triple(positions));
      LACT_CHECK(std::isfinite(point.x + point.y + point.z) &&
                     std::max({std::fabs(point.x), std::fabs(point.y), std::fabs(point.z)}) <= 1e18,
                 "{}: a vertex is at {} {} {}, expected coordinates within 1e18", path_, point.x, point.y,
                 point.z);
      data_.positions.push_back(point);
      if (normals.count > 0) data_.normals.push_back(moved_normal(place, triple(normals)));
      // glTF counts from the top.
      if (points.count > 0)
        data_.texture_points.push_back({float(points.at(i, 0)), float(1 - points.at(i, 1))});
      if (colours.count > 0)
        data_.colours.push_back(Vec3{shown_share(colours.at(i, 0)), shown_share(colours.at(i, 1)),
                                     shown_share(colours.at(i, 2))} *
                                look.tint);
    }
    return bases;
  }

  void add_triangles(const std::vector<int64_t>& order, int mode, int material, const Bases& bases,
                     bool again) {
    const auto corner = [&](size_t place) {
      const int64_t vertex = order[place];
      MeshCorner made;
      made.position = int(bases.position + vertex);
      if (bases.normal >= 0) made.normal = int(bases.normal + vertex);
      if (bases.point >= 0) made.texture = int(bases.point + vertex);
      if (bases.colour >= 0) made.colour = int(bases.colour + (bases.one_colour ? 0 : vertex));
      return made;
    };
    const size_t step = mode == TINYGLTF_MODE_TRIANGLES ? 3 : 1;
    for (size_t i = 0; i + 2 < order.size(); i += step) {
      const size_t most = again ? kMostInstances * unique_ + kAlwaysAllowedTriangles : kMaxMeshItems;
      LACT_CHECK(data_.faces.size() < std::min(most, kMaxMeshItems),
                 "{}: its meshes stand in so many places that they have more than {} triangles", path_,
                 std::min(most, kMaxMeshItems));
      // Every second triangle of a strip turns the other way.
      const bool odd = mode == TINYGLTF_MODE_TRIANGLE_STRIP && i % 2 == 1;
      const size_t first = mode == TINYGLTF_MODE_TRIANGLE_FAN ? 0 : i;
      data_.faces.push_back(
          {{corner(first), corner(odd ? i + 2 : i + 1), corner(odd ? i + 1 : i + 2)}, material});
    }
  }

  GltfLook look_of(int material, const std::string& where) {
    if (material < 0) return {};
    const auto known = looks_.find(material);
    if (known != looks_.end()) return known->second;
    LACT_CHECK(static_cast<size_t>(material) < model_.materials.size(),
               "{}: {} has material {}, but there are {}", path_, where, material, model_.materials.size());
    const tinygltf::Material& from = model_.materials[static_cast<size_t>(material)];
    GltfLook look;
    look.material = static_cast<int>(data_.materials.size());
    MeshMaterial made{from.name, {1, 1, 1}, nullptr};
    const auto& factor = from.pbrMetallicRoughness.baseColorFactor;
    Vec3 colour{1, 1, 1};
    if (factor.size() >= 3) colour = {shown_share(factor[0]), shown_share(factor[1]), shown_share(factor[2])};
    const auto& texture = from.pbrMetallicRoughness.baseColorTexture;
    if (texture.index >= 0) {
      LACT_CHECK(texture.extensions.count("KHR_texture_transform") == 0,
                 "{}: materials.{} has KHR_texture_transform, which is not known here", path_, material);
      made.texture = texture_of(texture.index, material);
      look.tint = colour;
      look.texture_points = fmt::format("TEXCOORD_{}", texture.texCoord);
    } else {
      made.colour = colour;
    }
    data_.materials.push_back(std::move(made));
    looks_.emplace(material, look);
    return look;
  }

  std::shared_ptr<const TexturePyramid> texture_of(int index, int material) {
    LACT_CHECK(static_cast<size_t>(index) < model_.textures.size(),
               "{}: materials.{} has texture {}, but there are {}", path_, material, index,
               model_.textures.size());
    const int image = model_.textures[static_cast<size_t>(index)].source;
    LACT_CHECK(image >= 0 && static_cast<size_t>(image) < model_.images.size(),
               "{}: textures.{} has no picture that is PNG or JPEG", path_, index);
    return textures_.get(std::to_string(image), fmt::format("{}: images.{}", path_, image),
                         [&] { return document_.image_bytes(image); });
  }

  GltfDocument document_;
  const tinygltf::Model& model_;
  std::string path_;
  MeshData data_;
  TextureSet textures_;
  std::map<int, GltfLook> looks_;  ///< by material
  std::set<int> shown_;            ///< meshes
  size_t unique_ = 0;              ///< triangles of meshes that were shown for the first time
  int64_t visited_ = 0;
};

}  // namespace

MeshData read_gltf(const std::string& path) { return GltfReader(path).read(); }

}  // namespace lact::data::tracer
