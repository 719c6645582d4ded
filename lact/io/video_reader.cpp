#include "lact/io/video_reader.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "lact/base/error.h"
#include "lact/io/ffmpeg_file.h"
#include "lact/io/regular_file.h"

namespace lact::io {

namespace {

constexpr double kFastestFrames = 1000;

/// Crops the middle to the shape of the wanted frame, then scales it by averaging areas. Pixels count as
/// square, as other loaders of training clips take them.
std::string frame_filter(const VideoReadOptions& options) {
  std::string filter;
  if (options.fps > 0) filter = fmt::format("fps=fps={}", options.fps);
  if (options.size.height > 0) {
    const auto [height, width] = options.size;
    filter += fmt::format(
        "{}crop=w='max(1,min(iw,ih*{}/{}))':h='max(1,min(ih,iw*{}/{}))':exact=1,"
        "scale={}:{}:flags=area+accurate_rnd+full_chroma_int",
        filter.empty() ? "" : ",", width, height, height, width, width, height);
  }
  return filter.empty() ? "null" : filter;
}

std::vector<std::string> reading_words(const std::string& path, const VideoReadOptions& options) {
  std::vector<std::string> words = {options.programs.ffmpeg, "-hide_banner", "-nostdin", "-loglevel",
                                    "error"};
  const auto add = [&](std::initializer_list<std::string> more) {
    words.insert(words.end(), more.begin(), more.end());
  };
  words.insert(words.end(), kFfmpegFilesAlone.begin(), kFfmpegFilesAlone.end());
  if (options.start > 0) add({"-ss", fmt::format("{:.6f}", options.start)});
  add({"-i", ffmpeg_file(path), "-map", "0:V:0", "-vf", frame_filter(options), "-fps_mode", "passthrough"});
  if (options.max_frames > 0) add({"-frames:v", fmt::format("{}", options.max_frames)});
  // PPM: the bytes of a frame behind a line that tells its size.
  add({"-c:v", "ppm", "-pix_fmt", "rgb24", "-f", "image2pipe", "pipe:1"});
  return words;
}

}  // namespace

bool is_readable_video_name(const std::string& path) {
  constexpr std::array<std::string_view, 9> kEndings = {".mp4",  ".m4v", ".mov",  ".avi", ".mkv",
                                                        ".webm", ".mpg", ".mpeg", ".gif"};
  std::string ending = std::filesystem::path(path).extension().string();
  for (char& letter : ending)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return std::find(kEndings.begin(), kEndings.end(), ending) != kEndings.end();
}

VideoReader::VideoReader(const std::string& path, const VideoReadOptions& options)
    : path_(path), options_(options) {
  regular_file_size(path);
  const auto [height, width] = options.size;
  LACT_CHECK((height == 0) == (width == 0), "{}: frames of {} x {} pixels are asked for", path, width,
             height);
  if (height != 0) check_image_size(path, height, width);
  LACT_CHECK(std::isfinite(options.fps) && options.fps >= 0 && options.fps <= kFastestFrames,
             "{}: {} frames per second are asked for, expected up to {}, or 0 for the video's own", path,
             options.fps, kFastestFrames);
  LACT_CHECK(std::isfinite(options.start) && options.start >= 0 && options.max_frames >= 0,
             "{}: {} frames from second {} on are asked for, expected 0 or more", path, options.max_frames,
             options.start);
  start_video_program(ffmpeg_, reading_words(path, options), path);
}

void VideoReader::fail_with_complaint() {
  ended_ = true;
  ffmpeg_.finish();
  fail_as_unreadable(ffmpeg_, options_.programs.ffmpeg, path_);
}

void VideoReader::read_number(int64_t& number) {
  number = 0;
  for (char letter = 0; ffmpeg_.read(&letter, 1) == 1 && letter >= '0' && letter <= '9';) {
    number = number * 10 + (letter - '0');
    if (number > kMaxImageSide) break;
  }
}

bool VideoReader::read_frame_header() {
  std::array<char, 3> kind = {};
  const size_t count = ffmpeg_.read(kind.data(), kind.size());
  if (count == 0) return false;
  if (std::string_view(kind.data(), count) != "P6\n") fail_with_complaint();
  int64_t brightest = 0;
  read_number(size_.width);
  read_number(size_.height);
  read_number(brightest);
  check_image_size(path_, size_.height, size_.width);
  if (brightest != 255) fail_with_complaint();
  return true;
}

at::Tensor VideoReader::next() {
  if (ended_) return {};
  if (!read_frame_header()) {
    ended_ = true;
    const bool well = ffmpeg_.finish();
    if (!well || (frames_ == 0 && options_.start == 0)) fail_with_complaint();
    return {};
  }
  at::Tensor frame = at::empty({size_.height, size_.width, 3}, at::kByte);
  if (ffmpeg_.read(frame.data_ptr(), frame.nbytes()) != frame.nbytes()) fail_with_complaint();
  ++frames_;
  return frame;
}

}  // namespace lact::io
