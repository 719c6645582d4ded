#include "lact/data/views/json_record.h"

#include <algorithm>
#include <cmath>

#include "lact/base/error.h"
#include "lact/base/json_text.h"
#include "lact/io/image.h"
#include "lact/io/regular_file.h"

namespace lact::data {

namespace {

constexpr uint64_t kMaxCameraFileBytes = uint64_t{256} << 20;
constexpr size_t kMostShownItems = 8;

/// Nested values are named, not shown.
std::string shown_value(const options::Json& value) {
  const bool flat =
      std::all_of(value.begin(), value.end(), [](const auto& item) { return item.is_primitive(); });
  if (!flat || value.size() > kMostShownItems)
    return fmt::format("{} of {} entries", value.is_array() ? "a list" : "an object", value.size());
  return shown_json(value);
}

}  // namespace

JsonRecord::JsonRecord(const options::Json& json, std::string where) : json_(json), where_(std::move(where)) {
  LACT_CHECK(json.is_object(), "{} is {}, expected an object", where_, shown_value(json));
}

const options::Json& JsonRecord::at(const std::string& key) const {
  const auto found = json_.find(key);
  LACT_CHECK(found != json_.end(), "{} has no \"{}\"", where_, key);
  return *found;
}

std::string JsonRecord::name(const std::string& key) const {
  return where_.ends_with(':') ? where_ + " " + key : where_ + "." + key;
}

void JsonRecord::wrong(const std::string& key, const std::string& expected) const {
  fail("{} is {}, expected {}", name(key), shown_value(at(key)), expected);
}

double JsonRecord::number(const std::string& key) const {
  const options::Json& value = at(key);
  if (!value.is_number() || !std::isfinite(value.get<double>())) wrong(key, "a finite number");
  return value.get<double>();
}

std::optional<double> JsonRecord::find_number(const std::string& key) const {
  return has(key) ? std::optional(number(key)) : std::nullopt;
}

int64_t JsonRecord::pixels(const std::string& key) const {
  const double value = number(key);
  if (value != std::floor(value) || value < 1 || value > static_cast<double>(io::kMaxImageSide))
    wrong(key, fmt::format("a whole number of pixels from 1 to {}", io::kMaxImageSide));
  return static_cast<int64_t>(value);
}

std::string JsonRecord::text(const std::string& key) const {
  if (!at(key).is_string() || at(key).get_ref<const std::string&>().empty()) wrong(key, "a string");
  return at(key).get<std::string>();
}

Pose JsonRecord::pose(const std::string& key) const {
  const options::Json& rows = at(key);
  const std::string expected = "4 rows of 4 numbers";
  if (!rows.is_array() || (rows.size() != 3 && rows.size() != 4)) wrong(key, expected);
  Pose pose = identity_pose();
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].is_array() || rows[i].size() != 4) wrong(key, expected);
    for (size_t j = 0; j < 4; ++j) {
      if (!rows[i][j].is_number()) wrong(key, expected);
      pose[i][j] = rows[i][j].get<double>();
    }
  }
  check_pose(pose, name(key));
  return pose;
}

options::Json read_camera_json(const std::string& path) {
  const uint64_t bytes = io::regular_file_size(path);
  LACT_CHECK(bytes <= kMaxCameraFileBytes, "{}: the file has {} bytes, expected at most {}", path, bytes,
             kMaxCameraFileBytes);
  return options::read_json_file(path);
}

}  // namespace lact::data
