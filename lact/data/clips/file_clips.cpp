#include "lact/data/clips/file_clips.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "lact/base/error.h"
#include "lact/base/fnv.h"
#include "lact/base/options.h"
#include "lact/base/random.h"
#include "lact/data/views/preprocess.h"
#include "lact/io/image.h"
#include "lact/io/video_reader.h"

namespace lact::data {

namespace {

/// A file that was written anew is another one.
std::string file_stamp(const ClipFile& file) {
  namespace fs = std::filesystem;
  Fnv1a hash;
  std::error_code ignored;
  for (const std::string& path : file.is_folder ? find_frames(file.path) : std::vector{file.path})
    hash.update(fmt::format("{} {} {}\n", path, fs::file_size(path, ignored),
                            fs::last_write_time(path, ignored).time_since_epoch().count()));
  return fmt::format("{} {}", fs::absolute(file.path).lexically_normal().string(), hash.hex());
}

/// uint8 [H, W, 3] each -> [F, 3, H, W]
at::Tensor stacked_frames(const std::vector<at::Tensor>& frames) {
  at::Tensor stack = at::empty({int64_t(frames.size()), 3, frames[0].size(0), frames[0].size(1)}, at::kByte);
  for (size_t i = 0; i < frames.size(); ++i) stack[int64_t(i)].copy_(frames[i].permute({2, 0, 1}));
  return stack;
}

}  // namespace

void FileClipsOptions::check() const {
  const auto rate = [](const char* name, double value, bool zero) {
    LACT_CHECK(std::isfinite(value) && value <= 1000 && (value > 0 || (zero && value == 0)),
               "[clips] {} is {}, expected {} up to 1000", name, value, zero ? "0, or" : "more than 0 and");
  };
  rate("fps", fps, true);
  rate("folder_fps", folder_fps, false);
  constexpr int64_t kMostStretches = 1 << 30;
  LACT_CHECK(stretches >= 0 && stretches <= kMostStretches, "[clips] stretches is {}, expected 0 to {}",
             stretches, kMostStretches);
  LACT_CHECK(valid_share > 0 && valid_share < 1,
             "[clips] valid_share is {}, expected more than 0 and less than 1", valid_share);
}

FileClips::FileClips(const FileClipsOptions& options, const ClipShape& shape, uint64_t seed, ClipPart part)
    : options_(options), shape_(shape), seed_(seed) {
  options.check();
  shape.check();
  files_ = split_clip_files(find_clip_files(options.paths, options.allow_empty_captions), part,
                            options.valid_share);
}

size_t FileClips::file_number(uint64_t index) const {
  const uint64_t count = files_.size();
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  Random(mix(seed_, index / count)).shuffle(order);
  return order[index % count];
}

FileClips::Length FileClips::length_of(size_t number) const {
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = lengths_.find(number); known != lengths_.end()) return known->second;
  }
  const ClipFile& file = files_[number];
  Length length;
  if (file.is_folder) {
    length.fps = options_.fps > 0 ? options_.fps : options_.folder_fps;
    const auto pictures = static_cast<double>(find_frames(file.path).size());
    length.frames = std::max<int64_t>(1, std::llround(pictures * length.fps / options_.folder_fps));
  } else {
    const io::VideoInfo info = io::probe_video(file.path);
    length.fps = options_.fps > 0 ? options_.fps : info.fps;
    length.frames = std::max<int64_t>(1, std::llround(info.seconds * length.fps));
  }
  const std::lock_guard lock(mutex_);
  return lengths_.emplace(number, length).first->second;
}

int64_t FileClips::start_of(uint64_t index, const Length& length) const {
  const int64_t room = std::max<int64_t>(0, length.frames - shape_.frames);
  Random random(mix(mix(seed_, 1), index));
  if (options_.stretches == 0) return random.below(room + 1);
  if (options_.stretches == 1) return room / 2;
  return random.below(options_.stretches) * room / (options_.stretches - 1);
}

Clip FileClips::clip(uint64_t index) const {
  const size_t number = file_number(index);
  const ClipFile& file = files_[number];
  const Length length = length_of(number);
  int64_t start = start_of(index, length);
  std::vector<at::Tensor> frames = read_stretch(file, start, length.fps);
  // A file may promise more than it has: then what lies before is taken.
  while (int64_t(frames.size()) < shape_.frames && start > 0) {
    const int64_t missing = shape_.frames - int64_t(frames.size());
    start = frames.empty() ? start / 2 : std::max<int64_t>(0, start - missing);
    frames = read_stretch(file, start, length.fps);
  }
  LACT_CHECK(int64_t(frames.size()) == shape_.frames || options_.short_clips == ShortClips::hold,
             "{}: the file has {} frames at {:.4g} frames per second, expected at least {}; shorter ones can "
             "hold their last frame: short_clips=hold",
             file.path, frames.size(), length.fps, shape_.frames);
  while (int64_t(frames.size()) < shape_.frames) frames.push_back(frames.back());
  return {stacked_frames(frames), file.caption, length.fps};
}

std::string FileClips::identity(uint64_t index) const {
  const size_t number = file_number(index);
  const Length length = length_of(number);
  return fmt::format("file {} from {} x{} {}x{} at {} {}", file_stamp(files_[number]),
                     start_of(index, length), shape_.frames, shape_.height, shape_.width, length.fps,
                     options::word_of(options_.short_clips));
}

std::vector<at::Tensor> FileClips::read_stretch(const ClipFile& file, int64_t start, double fps) const {
  auto frames = file.is_folder ? read_folder(file, start, fps) : read_video(file, start, fps);
  LACT_CHECK(start > 0 || !frames.empty(), "{}: there is no frame in it", file.path);
  return frames;
}

std::vector<at::Tensor> FileClips::read_video(const ClipFile& file, int64_t start, double fps) const {
  io::VideoReadOptions options;
  options.size = {shape_.height, shape_.width};
  options.fps = options_.fps;
  options.max_frames = shape_.frames;
  // Half a frame early, so that rounding does not decide which one comes first.
  if (start > 0) options.start = (static_cast<double>(start) - 0.5) / fps;
  io::VideoReader reader(file.path, options);
  std::vector<at::Tensor> frames;
  while (int64_t(frames.size()) < shape_.frames) {
    at::Tensor frame = reader.next();
    if (!frame.defined()) break;
    frames.push_back(std::move(frame));
  }
  return frames;
}

std::vector<at::Tensor> FileClips::read_folder(const ClipFile& file, int64_t start, double fps) const {
  const auto pictures = find_frames(file.path);
  std::vector<at::Tensor> frames;
  int64_t last = -1;
  for (int64_t i = start; i < start + shape_.frames; ++i) {
    const auto number = static_cast<int64_t>(std::floor(double(i) * options_.folder_fps / fps + 1e-6));
    if (number >= int64_t(pictures.size())) break;
    if (number == last) {
      frames.push_back(frames.back());
    } else {
      const at::Tensor picture = composite_on_white(io::read_image(pictures[size_t(number)]));
      frames.push_back(resize_and_crop(picture, shape_.height, shape_.width));
    }
    last = number;
  }
  return frames;
}

}  // namespace lact::data
