// Videos to pictures, through FFmpeg: it runs as a program of its own and hands over one frame after the
// other, so that a video of any length takes the memory of a few frames.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "lact/io/child_process.h"
#include "lact/io/image.h"

namespace lact::io {

struct VideoPrograms {
  std::string ffmpeg = "ffmpeg";  ///< looked for in PATH
  std::string ffprobe = "ffprobe";
};

struct VideoInfo {
  ImageSize size = {};  ///< as stored, before the turn that some cameras ask for
  double fps = 0;       ///< on average
  double seconds = 0;   ///< as the file promises; it may have less
};

struct VideoReadOptions {
  ImageSize size = {};     ///< the frame's middle is scaled to this size; zeros: as it is
  double fps = 0;          ///< frames are left out or repeated to give this rate; 0: each one as stored
  double start = 0;        ///< in seconds
  int64_t max_frames = 0;  ///< 0: all
  VideoPrograms programs = {};
};

/// Whether a file of this name is taken for a video: .mp4 .m4v .mov .avi .mkv .webm .mpg .mpeg .gif, also in
/// capitals.
bool is_readable_video_name(const std::string& path);

/// What a video says about itself. Throws a sentence with ffprobe's last line if it cannot be read.
VideoInfo probe_video(const std::string& path, const VideoPrograms& programs = {});

/// A file is read from the disk and nowhere else, whatever it refers to. For one thread.
class VideoReader {
 public:
  explicit VideoReader(const std::string& path, const VideoReadOptions& options = {});

  /// The next frame, uint8 [H, W, 3]; undefined at the end. Throws a sentence with ffmpeg's last line if the
  /// video is broken, also if it has no frame at all where it was read from the start.
  at::Tensor next();

  int64_t frames_read() const { return frames_; }

 private:
  /// False at the end of the stream.
  bool read_frame_header();
  void read_number(int64_t& number);
  [[noreturn]] void fail_with_complaint();

  std::string path_;
  VideoReadOptions options_;
  ImageSize size_ = {};  // of the frame at hand
  int64_t frames_ = 0;
  bool ended_ = false;
  ChildProcess ffmpeg_{ChildProcess::Direction::we_read};
};

}  // namespace lact::io
