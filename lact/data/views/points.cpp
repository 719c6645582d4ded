#include "lact/data/views/points.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/data/views/colmap.h"
#include "lact/data/views/readers.h"
#include "lact/io/mapped_file.h"
#include "lact/io/ply.h"

namespace lact::data {

namespace {

namespace fs = std::filesystem;

/// How far a camera of the same name may be, as a share of the cameras' extent: two reconstructions of the
/// same photos in the same coordinates differ by less.
constexpr double kSameCoordinates = 0.05;
constexpr uint64_t kMostPoints = 100'000'000;

ScenePoints from_colmap(const std::string& file, const std::vector<ColmapPoint>& points) {
  ScenePoints result = {file, {}, {}};
  for (const ColmapPoint& point : points) {
    result.places.push_back(point.place);
    result.colours.push_back(point.colour);
  }
  return result;
}

ScenePoints read_ply_points(const std::string& path) {
  const io::MappedFile file(path);
  const std::string_view bytes(reinterpret_cast<const char*>(file.data()), file.size());
  const io::PlyHeader header = io::read_ply_header(path, bytes, kMostPoints);
  const io::PlyElement* vertex = header.find("vertex");
  LACT_CHECK(vertex && vertex->find("x") >= 0 && vertex->find("y") >= 0 && vertex->find("z") >= 0,
             "{}: has no element vertex with x, y, z", path);
  LACT_CHECK(vertex == &header.elements.front(), "{}: its first element is {}, expected vertex", path,
             header.elements.front().name);
  const int places[] = {vertex->find("x"), vertex->find("y"), vertex->find("z")};
  const int colours[] = {vertex->find("red"), vertex->find("green"), vertex->find("blue")};
  io::PlyValues values(path, bytes.substr(header.bytes), header);
  ScenePoints points = {path, {}, {}};
  for (uint64_t i = 0; i < vertex->count; ++i) {
    Point place{}, colour = {0.5, 0.5, 0.5};
    for (int property = 0; property < int(vertex->properties.size()); ++property) {
      const auto& what = vertex->properties[size_t(property)];
      if (what.list) {
        values.skip(what);
        continue;
      }
      const double value = values.number(what.type, what.name);
      for (int axis = 0; axis < 3; ++axis) {
        if (property == places[axis]) place[size_t(axis)] = value;
        if (property == colours[axis])
          colour[size_t(axis)] = what.type == io::PlyType::uint8 ? value / 255 : std::clamp(value, 0., 1.);
      }
    }
    points.places.push_back(place);
    points.colours.push_back(colour);
  }
  return points;
}

/// Whether the COLMAP model in `folder` sees the capture's photos from where the capture says.
bool has_cameras_of(const std::string& folder, const Capture& capture) {
  std::map<std::string, Point> known;
  Point low{}, high{};
  for (const View& view : capture.views) {
    const Point place = column(view.camera.camera_to_world, 3);
    if (known.empty()) low = high = place;
    for (size_t axis = 0; axis < 3; ++axis) {
      low[axis] = std::min(low[axis], place[axis]);
      high[axis] = std::max(high[axis], place[axis]);
    }
    known[fs::path(view.image).filename().string()] = place;
  }
  std::vector<double> distances;
  for (const View& view : read_colmap(folder))
    if (const auto found = known.find(fs::path(view.image).filename().string()); found != known.end())
      distances.push_back(length(difference(column(view.camera.camera_to_world, 3), found->second)));
  if (distances.empty()) return false;
  std::nth_element(distances.begin(), distances.begin() + int64_t(distances.size() / 2), distances.end());
  return distances[distances.size() / 2] <= kSameCoordinates * length(difference(high, low));
}

}  // namespace

ScenePoints read_points(const std::string& file) {
  const std::string ending = fs::path(file).extension().string();
  ScenePoints points;
  if (ending == ".bin") {
    points = from_colmap(file, read_colmap_points_binary(file));
  } else if (ending == ".txt") {
    points = from_colmap(file, read_colmap_points_text(file));
  } else {
    LACT_CHECK(ending == ".ply", "{}: expected points as .ply, or COLMAP's points3D.bin or points3D.txt",
               file);
    points = read_ply_points(file);
  }
  return points;
}

ScenePoints points_of(const Capture& capture) {
  const fs::path beside =
      fs::is_directory(capture.source) ? fs::path(capture.source) : fs::path(capture.source).parent_path();
  for (const fs::path& folder :
       {beside, beside / "sparse" / "0", beside / "colmap" / "sparse" / "0", beside / "sparse"}) {
    for (const char* name : {"points3D.bin", "points3D.txt", "points3D.ply", "sparse_pc.ply"}) {
      const fs::path file = folder / name;
      if (!fs::exists(file)) continue;
      if (is_colmap_folder(folder.string()) && !has_cameras_of(folder.string(), capture)) {
        log::warn("{}: the cameras beside it are not those of {}, so its points are not used", file.string(),
                  capture.source);
        continue;
      }
      ScenePoints points = read_points(file.string());
      if (!points.places.empty()) return points;
    }
  }
  return {};
}

}  // namespace lact::data
