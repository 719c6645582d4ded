// A scene that is read from photos, all at once or a few at a time.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "lact/data/views/capture.h"
#include "lact/data/views/frame_choice.h"
#include "lact/models/nvs/scene_file.h"
#include "lact/tasks/nvs/load.h"

namespace lact::tasks::nvs {

struct ReadOptions {
  io::ImageSize size;  ///< of the photos as the model reads them
  data::FrameChoice frame = data::FrameChoice::mean_pose;
  int64_t piece_tokens = models::ReconstructOptions{}.piece_tokens;
  std::function<void(int64_t done, int64_t total)> on_piece = {};
};

class GrowingScene {
 public:
  /// Nothing is read yet.
  GrowingScene(const Loaded& nvs, ReadOptions options);

  /// Reads some of the photos, a piece at a time: a photo is decoded when its piece is read and forgotten
  /// afterwards. They are written into the memory together, after those that were read before. The first ones
  /// decide on the coordinates: what the photos show is best seen from all cameras of the capture; a mean
  /// pose is that of the views that are read, as in training.
  void read(const data::Capture& photos, const std::vector<int64_t>& chosen);

  /// With this, the coordinates do not depend on how many photos are read first.
  void set_frame(const data::SceneFrame& frame) { frame_ = frame; }

  models::NvsScene& scene() { return scene_; }
  models::NvsScene take() { return std::move(scene_); }

 private:
  Loaded nvs_;
  ReadOptions options_;
  std::optional<data::SceneFrame> frame_;
  models::NvsScene scene_;
};

/// The frame of a scene that is read from these photos.
data::SceneFrame frame_of_photos(const data::Capture& photos, const std::vector<int64_t>& chosen,
                                 data::FrameChoice choice);

}  // namespace lact::tasks::nvs
