// The authors' camera lists.
#include "lact/data/views/camera_file.h"
#include "lact/data/views/json_record.h"
#include "lact/data/views/readers.h"

namespace lact::data {

namespace {

const options::Json* opencv_entries(const options::Json& json) {
  const options::Json* list = &json;
  if (json.is_object()) {
    const auto frames = json.find("frames");
    if (frames == json.end()) return nullptr;
    list = &*frames;
  }
  const bool ours =
      list->is_array() && !list->empty() && list->front().is_object() && list->front().contains("w2c");
  return ours ? list : nullptr;
}

}  // namespace

bool is_opencv_cameras(const options::Json& json) { return opencv_entries(json) != nullptr; }

std::vector<View> read_opencv_cameras(const options::Json& json, const std::string& file) {
  const options::Json& entries = *opencv_entries(json);
  std::vector<View> views;
  for (size_t i = 0; i < entries.size(); ++i) {
    const JsonRecord entry(entries[i], fmt::format("{}: view {}", file, i));
    views.push_back({camera_of_record(entry), {}, entry.text("file_path")});
  }
  return views;
}

}  // namespace lact::data
