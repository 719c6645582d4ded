// Photos of a capture that is still being taken, as they appear on the disk.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lact/data/views/capture.h"

namespace lact::tasks::nvs {

struct ArrivalOptions {
  int64_t every = 4;                                         ///< photos that are given together
  std::chrono::milliseconds wait = std::chrono::minutes(1);  ///< for the next photo, at most
  std::chrono::milliseconds look_every{500};
};

class PhotoArrivals {
 public:
  /// `path` as for load_capture: the camera file may name photos that are not there yet, or grow with them.
  /// Neither need exist at first.
  PhotoArrivals(std::string path, const data::CaptureOptions& reading, const ArrivalOptions& options);

  /// The next `every` photos, in the order of the camera file: indices of capture(). Fewer once no other came
  /// in time, or `stop` is true; none at the end. A photo counts when its file has stopped growing. Throws
  /// the sentence why nothing can be read if nothing ever could.
  std::vector<int64_t> next(const std::function<bool()>& stop);

  /// As it was when the last photos were given.
  const data::Capture& capture() const { return capture_; }

 private:
  /// Photos that are complete and were not given yet.
  std::vector<int64_t> look();

  std::string path_;
  data::CaptureOptions reading_;
  ArrivalOptions options_;
  data::Capture capture_;
  std::set<std::string> given_;
  std::map<std::string, uintmax_t> sizes_;  ///< of files, when they were looked at last
  std::string problem_;                     ///< why there is no capture yet
};

}  // namespace lact::tasks::nvs
