// Where a sequence of pictures goes, by its name: a folder of PNG files, one PNG file, or a video.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lact/io/image.h"
#include "lact/io/video_writer.h"

namespace lact::io {

/// Throws a sentence if frames cannot go there: for work that takes long before the first one. A folder must
/// not hold frames yet, since those of two sequences would mix.
void check_frame_output(const std::string& path);

/// A folder gets frame-00000.png and so on, each as soon as it is written; it is made if it is missing. A
/// picture or video appears with finish().
class FrameOutput {
 public:
  /// `sizes` of all frames: a video's are all the same, a single picture is one. `fps` is for videos.
  FrameOutput(const std::string& path, const std::vector<ImageSize>& sizes, double fps);

  /// The next frame, uint8 [H, W, 3].
  void write(const at::Tensor& frame);

  void finish();

 private:
  std::string path_;
  int64_t frames_ = 0;
  at::Tensor picture_;                // the one of a .png
  std::optional<VideoWriter> video_;  // of an .mp4 or .gif
};

}  // namespace lact::io
