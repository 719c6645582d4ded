#include "lact/io/frame_output.h"

#include <filesystem>

#include "lact/base/error.h"
#include "lact/io/atomic_file.h"
#include "lact/io/png.h"

namespace lact::io {

namespace fs = std::filesystem;

namespace {

enum class FrameTarget { folder, picture, video };

FrameTarget frame_target(const std::string& path) {
  std::error_code ignored;
  const std::string ending = fs::path(path).extension().string();
  // "frames/" has no file name; a folder that exists may be called anything.
  if (ending.empty() || fs::is_directory(path, ignored)) return FrameTarget::folder;
  if (is_video_name(path)) return FrameTarget::video;
  LACT_CHECK(ending == ".png", "{}: frames are written to .mp4, .gif or .png, or to a folder, not to {}",
             path, ending);
  return FrameTarget::picture;
}

std::string frame_name(const std::string& folder, int64_t index) {
  return (fs::path(folder) / fmt::format("frame-{:05}.png", index)).string();
}

void check_no_frames(const std::string& folder) {
  std::error_code error;
  if (!fs::exists(folder, error)) return;
  LACT_CHECK(fs::is_directory(folder, error), "{}: is not a folder", folder);
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    LACT_CHECK(!name.starts_with("frame-") || !name.ends_with(".png"),
               "{}: holds frames already, such as {}; remove them or name another folder", folder, name);
  }
  LACT_CHECK(!error, "{}: cannot be read: {}", folder, error.message());
}

}  // namespace

void check_frame_output(const std::string& path) {
  LACT_CHECK(!path.empty(), "the name of the output is empty");
  if (frame_target(path) == FrameTarget::folder) {
    check_can_create_folder(path);
    check_no_frames(path);
  } else {
    check_can_write(path);
  }
}

FrameOutput::FrameOutput(const std::string& path, const std::vector<ImageSize>& sizes, double fps)
    : path_(path) {
  check_frame_output(path);
  LACT_CHECK(!sizes.empty(), "{}: there are no frames to write", path);
  const FrameTarget target = frame_target(path);
  if (target == FrameTarget::picture) {
    LACT_CHECK(sizes.size() == 1, "{}: {} frames do not fit into one picture; name a folder, .mp4 or .gif",
               path, sizes.size());
  } else if (target == FrameTarget::video) {
    for (size_t i = 1; i < sizes.size(); ++i)
      LACT_CHECK(sizes[i] == sizes[0],
                 "{}: frame 0 is {} x {} pixels and frame {} is {} x {}, but a video has one size", path,
                 sizes[0].height, sizes[0].width, i, sizes[i].height, sizes[i].width);
    video_.emplace(path, VideoOptions{sizes.front(), fps});
  } else {
    std::error_code error;
    fs::create_directories(path, error);
    LACT_CHECK(!error, "{}: cannot be created: {}", path, error.message());
    check_can_write(frame_name(path, 0));
  }
}

void FrameOutput::write(const at::Tensor& frame) {
  if (video_) {
    video_->write(frame);
  } else if (frame_target(path_) == FrameTarget::picture) {
    picture_ = frame;
  } else {
    write_png(frame_name(path_, frames_), frame);
  }
  ++frames_;
}

void FrameOutput::finish() {
  if (video_) video_->finish();
  if (picture_.defined()) write_png(path_, picture_);
}

}  // namespace lact::io
