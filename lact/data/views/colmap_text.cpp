// cameras.txt: CAMERA_ID MODEL WIDTH HEIGHT PARAMS...
// images.txt, two lines per image: IMAGE_ID QW QX QY QZ TX TY TZ CAMERA_ID NAME, then its 2D points
// points3D.txt: POINT3D_ID X Y Z R G B ERROR TRACK...
#include <charconv>
#include <fstream>
#include <string_view>

#include "lact/base/error.h"
#include "lact/data/views/colmap.h"
#include "lact/io/regular_file.h"

namespace lact::data {

namespace {

/// The words of one line, in order.
class ColmapLine {
 public:
  ColmapLine(std::string_view text, std::string where) : rest_(text), where_(std::move(where)) {}

  std::string_view word(const char* meaning) {
    skip_blanks();
    const size_t count = std::min(rest_.find_first_of(" \t"), rest_.size());
    LACT_CHECK(count > 0, "{}: the line ends where {} was expected", where_, meaning);
    const std::string_view result = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return result;
  }

  template <class Number>
  Number number(const char* meaning) {
    const std::string_view text = word(meaning);
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    LACT_CHECK(error == std::errc() && end == text.data() + text.size(),
               "{}: {} is \"{}\", expected a number", where_, meaning, text);
    return value;
  }

  /// All that is left: names may hold blanks.
  std::string rest() {
    skip_blanks();
    return std::string(rest_);
  }

  bool empty() {
    skip_blanks();
    return rest_.empty();
  }
  const std::string& where() const { return where_; }

 private:
  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t"), rest_.size())); }

  std::string_view rest_;
  std::string where_;
};

/// Calls read_entry(line, stream) for every line that is neither empty nor a comment.
template <class ReadEntry>
void for_each_colmap_line(const std::string& file, const ReadEntry& read_entry) {
  io::regular_file_size(file);
  std::ifstream stream(file, std::ios::binary);
  LACT_CHECK(stream, "{}: cannot be opened for reading", file);
  int64_t number = 0;
  std::string text;
  const auto next_line = [&] {
    ++number;
    if (!std::getline(stream, text)) return false;
    while (!text.empty() && (text.back() == '\r' || text.back() == ' ')) text.pop_back();
    return true;
  };
  while (next_line()) {
    if (text.empty() || text.front() == '#') continue;
    read_entry(ColmapLine(text, fmt::format("{}, line {}", file, number)), next_line);
  }
}

}  // namespace

std::map<int64_t, ColmapCamera> read_colmap_cameras_text(const std::string& file) {
  std::map<int64_t, ColmapCamera> cameras;
  for_each_colmap_line(file, [&](ColmapLine line, const auto&) {
    const auto id = line.number<int64_t>("the camera's number");
    const std::string model(line.word("the camera model"));
    const auto width = line.number<int64_t>("the width"), height = line.number<int64_t>("the height");
    std::vector<double> parameters;
    while (!line.empty()) parameters.push_back(line.number<double>("a parameter"));
    cameras[id] = make_colmap_camera(model, width, height, parameters, line.where());
  });
  return cameras;
}

std::vector<ColmapImage> read_colmap_images_text(const std::string& file) {
  std::vector<ColmapImage> images;
  for_each_colmap_line(file, [&](ColmapLine line, const auto& next_line) {
    ColmapImage image;
    line.number<int64_t>("the image's number");
    for (double& value : image.rotation) value = line.number<double>("the rotation");
    for (double& value : image.translation) value = line.number<double>("the translation");
    image.camera = line.number<int64_t>("the camera's number");
    image.name = line.rest();
    LACT_CHECK(!image.name.empty(), "{}: the line ends where the image's name was expected", line.where());
    images.push_back(std::move(image));
    next_line();  // the points
  });
  return images;
}

std::vector<ColmapPoint> read_colmap_points_text(const std::string& file) {
  std::vector<ColmapPoint> points;
  for_each_colmap_line(file, [&](ColmapLine line, const auto&) {
    ColmapPoint point{};
    line.number<int64_t>("the point's number");
    for (double& value : point.place) value = line.number<double>("the place");
    for (double& value : point.colour) {
      const auto byte = line.number<int64_t>("the colour");
      LACT_CHECK(byte >= 0 && byte <= 255, "{}: the colour is {}, expected 0 to 255", line.where(), byte);
      value = double(byte) / 255;
    }
    check_colmap_point(point, line.where());
    points.push_back(point);
  });
  return points;
}

}  // namespace lact::data
