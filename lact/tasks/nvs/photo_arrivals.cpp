#include "lact/tasks/nvs/photo_arrivals.h"

#include <algorithm>
#include <filesystem>
#include <thread>
#include <utility>

#include "lact/base/error.h"

namespace lact::tasks::nvs {

PhotoArrivals::PhotoArrivals(std::string path, const data::CaptureOptions& reading,
                             const ArrivalOptions& options)
    : path_(std::move(path)), reading_(reading), options_(options) {
  LACT_CHECK(options.every >= 1, "[photos] {} photos at a time are asked for, expected 1 or more",
             options.every);
  reading_.expects_more = true;
}

std::vector<int64_t> PhotoArrivals::look() {
  try {
    capture_ = data::load_capture(path_, reading_);
    problem_.clear();
  } catch (const Error& error) {
    problem_ = error.what();  // a camera file may be half written, or not be there yet
    return {};
  }
  std::vector<int64_t> complete;
  for (size_t i = 0; i < capture_.views.size(); ++i) {
    const std::string& image = capture_.views[i].image;
    if (given_.contains(image)) continue;
    std::error_code error;
    const uintmax_t size = std::filesystem::file_size(image, error);
    const auto before = sizes_.find(image);
    if (!error && before != sizes_.end() && before->second == size) complete.push_back(int64_t(i));
    if (!error) sizes_[image] = size;
  }
  return complete;
}

std::vector<int64_t> PhotoArrivals::next(const std::function<bool()>& stop) {
  const auto enough = size_t(options_.every);
  auto last_news = std::chrono::steady_clock::now();
  size_t before = 0;
  std::vector<int64_t> photos = look();
  while (photos.size() < enough && !stop()) {
    if (photos.size() != before) last_news = std::chrono::steady_clock::now();
    before = photos.size();
    if (std::chrono::steady_clock::now() - last_news >= options_.wait) break;
    std::this_thread::sleep_for(options_.look_every);
    photos = look();
  }
  LACT_CHECK(!photos.empty() || !given_.empty() || problem_.empty() || stop(), "{}", problem_);
  photos.resize(std::min(photos.size(), enough));
  for (const int64_t photo : photos) given_.insert(capture_.views[size_t(photo)].image);
  return photos;
}

}  // namespace lact::tasks::nvs
