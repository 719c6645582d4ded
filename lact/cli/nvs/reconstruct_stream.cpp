#include <chrono>

#include "lact/base/error.h"
#include "lact/base/interrupt.h"
#include "lact/base/log.h"
#include "lact/base/progress.h"
#include "lact/cli/nvs/reconstruct.h"
#include "lact/tasks/nvs/photo_arrivals.h"

namespace lact::cli {

namespace {

/// Writes photos into a scene and the scene into its file.
class StreamedScene {
 public:
  StreamedScene(const NvsReconstructArguments& arguments, SceneReading& reading)
      : arguments_(arguments), reading_(reading), scene_(reading.nvs, reading.options) {
    reading_.writes = 0;
  }

  void set_frame(const data::SceneFrame& frame) { scene_.set_frame(frame); }

  void read(const data::Capture& photos, const std::vector<int64_t>& next) {
    const auto start = std::chrono::steady_clock::now();
    scene_.read(photos, next);
    save_reconstructed(arguments_, reading_.nvs, scene_.scene());
    reading_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    reading_.chosen.insert(reading_.chosen.end(), next.begin(), next.end());
    reading_.available = int64_t(photos.views.size());
    ++reading_.writes;
  }

 private:
  const NvsReconstructArguments& arguments_;
  SceneReading& reading_;
  tasks::nvs::GrowingScene scene_;
};

void stream_present(const NvsReconstructArguments& arguments, StreamedScene& scene,
                    const SceneReading& reading) {
  const data::Capture& photos = reading.photos;
  const std::vector<int64_t> chosen = chosen_views(arguments, photos);
  // All are known: the coordinates are those of reading them at once.
  scene.set_frame(tasks::nvs::frame_of_photos(photos, chosen, reading.options.frame));
  const Interrupt interrupt;
  Progress bar("stream", int64_t(chosen.size()));
  for (size_t first = 0; first < chosen.size() && !interrupt.requested(); first += size_t(arguments.every)) {
    const size_t end = std::min(chosen.size(), first + size_t(arguments.every));
    scene.read(photos, {chosen.begin() + int64_t(first), chosen.begin() + int64_t(end)});
    bar.update(int64_t(end), "");
  }
}

void stream_arriving(const NvsReconstructArguments& arguments, StreamedScene& scene,
                     const SceneReading& reading) {
  tasks::nvs::ArrivalOptions options;
  options.every = arguments.every;
  options.wait = std::chrono::milliseconds(int64_t(1000 * arguments.wait));
  tasks::nvs::PhotoArrivals arrivals(arguments.photos, arguments.reading, options);
  const Interrupt interrupt;
  const auto stop = [&] { return interrupt.requested(); };
  for (auto next = arrivals.next(stop); !next.empty(); next = arrivals.next(stop)) {
    scene.read(arrivals.capture(), next);
    log::info("{}: {} photos", arguments.output, reading.chosen.size());
    if (stop()) break;
  }
}

}  // namespace

void stream_photos(const NvsReconstructArguments& arguments, SceneReading& reading) {
  StreamedScene scene(arguments, reading);
  if (arguments.wait > 0) {
    stream_arriving(arguments, scene, reading);
  } else {
    stream_present(arguments, scene, reading);
  }
  LACT_CHECK(!reading.chosen.empty(), "{}: no photo came in {} seconds", arguments.photos, arguments.wait);
}

}  // namespace lact::cli
