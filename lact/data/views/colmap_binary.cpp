// Little endian. cameras.bin: count u64; each: id i32, model i32, width u64, height u64, parameters f64.
// images.bin: count u64; each: id i32, quaternion 4 f64, translation 3 f64, camera i32, name ending in a zero
// byte, number of points u64, and for each point x f64, y f64, id i64.
// points3D.bin: count u64; each: id u64, place 3 f64, colour 3 u8, error f64, number of sightings u64, and
// for each sighting image i32, point i32.
#include <bit>
#include <fstream>

#include "lact/base/error.h"
#include "lact/data/views/colmap.h"
#include "lact/io/regular_file.h"

namespace lact::data {

namespace {

static_assert(std::endian::native == std::endian::little, "COLMAP's files are little endian");

constexpr uint64_t kPointBytes = 24, kSightingBytes = 8;
constexpr size_t kLongestName = 4096;

class ColmapFile {
 public:
  explicit ColmapFile(const std::string& path)
      : path_(path), left_(io::regular_file_size(path)), stream_(path, std::ios::binary) {
    LACT_CHECK(stream_, "{}: cannot be opened for reading", path);
  }

  template <class Number>
  Number number() {
    Number value{};
    take(sizeof(value));
    stream_.read(reinterpret_cast<char*>(&value), sizeof(value));
    LACT_CHECK(stream_, "{}: cannot be read", path_);
    return value;
  }

  std::string name() {
    std::string text;
    while (const char letter = number<char>()) {
      text += letter;
      LACT_CHECK(text.size() <= kLongestName, "{}: an image's name has more than {} bytes", path_,
                 kLongestName);
    }
    LACT_CHECK(!text.empty(), "{}: an image's name is empty", path_);
    return text;
  }

  void skip(uint64_t count, uint64_t bytes_each) {
    LACT_CHECK(count <= left_ / bytes_each, "{}: the file ends in the middle of {} points", path_, count);
    left_ -= count * bytes_each;
    stream_.seekg(static_cast<std::streamoff>(count * bytes_each), std::ios::cur);
  }

  const std::string& path() const { return path_; }

 private:
  void take(uint64_t bytes) {
    LACT_CHECK(bytes <= left_, "{}: the file ends in the middle", path_);
    left_ -= bytes;
  }

  const std::string& path_;
  uint64_t left_;
  std::ifstream stream_;
};

}  // namespace

std::map<int64_t, ColmapCamera> read_colmap_cameras_binary(const std::string& path) {
  ColmapFile file(path);
  std::map<int64_t, ColmapCamera> cameras;
  for (auto count = file.number<uint64_t>(); count > 0; --count) {
    const auto id = file.number<int32_t>();
    const std::string where = fmt::format("{}: camera {}", path, id);
    const std::string model = colmap_model_name(file.number<int32_t>(), where);
    const auto width = file.number<uint64_t>(), height = file.number<uint64_t>();
    std::vector<double> parameters(colmap_parameter_count(model, where));
    for (double& parameter : parameters) parameter = file.number<double>();
    cameras[id] = make_colmap_camera(model, static_cast<int64_t>(width), static_cast<int64_t>(height),
                                     parameters, where);
  }
  return cameras;
}

std::vector<ColmapImage> read_colmap_images_binary(const std::string& path) {
  ColmapFile file(path);
  std::vector<ColmapImage> images;
  for (auto count = file.number<uint64_t>(); count > 0; --count) {
    ColmapImage image;
    file.number<int32_t>();  // the image's number
    for (double& value : image.rotation) value = file.number<double>();
    for (double& value : image.translation) value = file.number<double>();
    image.camera = file.number<int32_t>();
    image.name = file.name();
    file.skip(file.number<uint64_t>(), kPointBytes);
    images.push_back(std::move(image));
  }
  return images;
}

std::vector<ColmapPoint> read_colmap_points_binary(const std::string& path) {
  ColmapFile file(path);
  std::vector<ColmapPoint> points;
  for (auto count = file.number<uint64_t>(); count > 0; --count) {
    ColmapPoint point{};
    const auto id = file.number<uint64_t>();
    for (double& value : point.place) value = file.number<double>();
    for (double& value : point.colour) value = double(file.number<uint8_t>()) / 255;
    file.number<double>();  // the error of its sightings
    file.skip(file.number<uint64_t>(), kSightingBytes);
    check_colmap_point(point, fmt::format("{}: point {}", path, id));
    points.push_back(point);
  }
  return points;
}

}  // namespace lact::data
