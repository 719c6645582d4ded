#include "lact/io/video_writer.h"

#include <ATen/ATen.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <vector>

#include "lact/base/error.h"
#include "lact/io/ffmpeg_file.h"

namespace lact::io {

namespace {

constexpr double kFastestVideo = 1000;

std::string video_ending(const std::string& path) { return std::filesystem::path(path).extension().string(); }

std::vector<std::string> ffmpeg_words(const VideoOptions& options, const std::string& ending,
                                      const std::string& output) {
  std::vector<std::string> words = {options.ffmpeg, "-hide_banner", "-nostdin", "-loglevel", "error", "-y"};
  const auto add = [&](std::initializer_list<std::string> more) {
    words.insert(words.end(), more.begin(), more.end());
  };
  add({"-f", "rawvideo", "-pixel_format", "rgb24", "-framerate", fmt::format("{}", options.fps)});
  add({"-video_size", fmt::format("{}x{}", options.size.width, options.size.height), "-i", "pipe:0", "-an"});
  if (ending == ".gif") {
    add({"-filter_complex", "split[a][b];[a]palettegen[p];[b][p]paletteuse=dither=bayer"});
    add({"-loop", "0", "-f", "gif"});
  } else {
    // 4:2:0 wants even sides; players take the colours of high-definition video for granted.
    add({"-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2,scale=out_color_matrix=bt709:out_range=tv"});
    add({"-c:v", "libx264", "-preset", "medium", "-crf", "16", "-pix_fmt", "yuv420p"});
    add({"-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709", "-color_range", "tv"});
    add({"-movflags", "+faststart", "-f", "mp4"});
  }
  add({ffmpeg_file(output)});
  return words;
}

}  // namespace

bool is_video_name(const std::string& path) {
  const std::string ending = video_ending(path);
  return ending == ".mp4" || ending == ".gif";
}

VideoWriter::VideoWriter(const std::string& path, const VideoOptions& options)
    : path_(path), options_(options), file_(path) {
  LACT_CHECK(is_video_name(path), "{}: videos are written as .mp4 or .gif", path);
  LACT_CHECK(std::isfinite(options.fps) && options.fps > 0 && options.fps <= kFastestVideo,
             "{}: the video has {} frames per second, expected a number above 0 and up to {}", path,
             options.fps, kFastestVideo);
  check_image_size(path, options.size.height, options.size.width);
  const int error = ffmpeg_.start(ffmpeg_words(options_, video_ending(path_), file_.temporary_name()));
  LACT_CHECK(error != ENOENT,
             "{}: videos are written by {}, which is not installed (Debian package ffmpeg); a folder of PNG "
             "frames needs no such program",
             path_, options_.ffmpeg);
  LACT_CHECK(error == 0, "{}: {} cannot be started: {}", path_, options_.ffmpeg, std::strerror(error));
}

void VideoWriter::give_up() {
  ffmpeg_.finish();  // it has closed its input, so it is about to end by itself and to say why
  const std::string complaints = ffmpeg_.first_complaints();
  fail("{}: {} failed{}{}", path_, options_.ffmpeg, complaints.empty() ? "" : ": ", complaints);
}

void VideoWriter::write(const at::Tensor& frame) {
  LACT_CHECK(frame.defined() && frame.scalar_type() == at::kByte &&
                 frame.sizes() == at::IntArrayRef({options_.size.height, options_.size.width, 3}),
             "{}: frame {} has shape {}, expected bytes [{}, {}, 3]", path_, frames_,
             frame.defined() ? frame.sizes().vec() : std::vector<int64_t>{}, options_.size.height,
             options_.size.width);
  LACT_CHECK(ffmpeg_.running(), "{}: the video is finished already", path_);
  const at::Tensor dense = frame.to(at::kCPU).contiguous();
  if (!ffmpeg_.write(dense.data_ptr(), dense.nbytes())) give_up();
  ++frames_;
}

void VideoWriter::finish() {
  LACT_CHECK(frames_ > 0, "{}: a video needs at least one frame", path_);
  LACT_CHECK(ffmpeg_.running(), "{}: the video is finished already", path_);
  if (!ffmpeg_.finish()) give_up();
  file_.commit();
}

}  // namespace lact::io
