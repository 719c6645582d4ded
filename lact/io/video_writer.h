// Pictures to a video file, through FFmpeg: it runs as a program of its own and is fed raw pixels.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "lact/io/atomic_file.h"
#include "lact/io/child_process.h"
#include "lact/io/image.h"

namespace lact::io {

struct VideoOptions {
  ImageSize size = {};  ///< of every frame
  double fps = 30;
  std::string ffmpeg = "ffmpeg";  ///< the program, looked for in PATH
};

/// Whether a file of this name is a video that VideoWriter can write: .mp4 or .gif.
bool is_video_name(const std::string& path);

/// H.264 in .mp4 (4:2:0; a side of odd length gets a row or column more), or an endless .gif with a palette
/// of its own. The file appears with finish(), whole; without it nothing is left. For one thread.
class VideoWriter {
 public:
  /// Starts ffmpeg. Throws a sentence if the file cannot be written or ffmpeg is not installed.
  VideoWriter(const std::string& path, const VideoOptions& options);

  /// uint8 [H, W, 3]. Throws what ffmpeg complains of if it has stopped.
  void write(const at::Tensor& frame);

  /// Waits for ffmpeg and gives the file its name.
  void finish();

 private:
  [[noreturn]] void give_up();

  std::string path_;
  VideoOptions options_;
  AtomicFile file_;
  int64_t frames_ = 0;
  ChildProcess ffmpeg_{ChildProcess::Direction::we_write};
};

}  // namespace lact::io
