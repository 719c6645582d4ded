// Clips of one shape out of videos and folders of frames.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lact/data/clips/clip.h"
#include "lact/data/clips/clip_files.h"

namespace lact::data {

/// What becomes of a file that is shorter than a clip.
enum class ShortClips { refuse, hold };
constexpr std::array<std::pair<ShortClips, std::string_view>, 2> enum_names(ShortClips) {
  return {{{ShortClips::refuse, "refuse"}, {ShortClips::hold, "hold"}}};
}

struct FileClipsOptions {
  std::vector<std::string> paths;
  bool allow_empty_captions = false;
  double fps = 0;
  double folder_fps = 24;
  ShortClips short_clips = ShortClips::refuse;
  int64_t stretches = 0;
  double valid_share = 0.1;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("paths", paths, "videos, folders of frames, folders with these below them, or .jsonl lists");
    field("allow_empty_captions", allow_empty_captions, "clips without a caption have an empty one");
    field("fps", fps, "frames per second of a clip; 0: as the file has them");
    field("folder_fps", folder_fps, "frames per second of folders of frames");
    field("short_clips", short_clips, "files shorter than a clip: refuse, or hold their last frame");
    field("stretches", stretches,
          "different stretches of each file that are used, spread evenly, so that a cache can hold them; 0: "
          "any");
    field("valid_share", valid_share,
          "share of the files that is kept for validation, by a hash of the name");
  }
  bool operator==(const FileClipsOptions&) const = default;

  /// Throws one sentence for options that cannot be.
  void check() const;
};

/// Every run of as many indices as there are files shows each file once, in an order of its own; the seed and
/// the index choose the stretch.
class FileClips : public ClipSource {
 public:
  FileClips(const FileClipsOptions& options, const ClipShape& shape, uint64_t seed, ClipPart part);

  Clip clip(uint64_t index) const override;
  std::string caption(uint64_t index) const override { return file(index).caption; }
  std::string identity(uint64_t index) const override;
  ClipShape shape() const override { return shape_; }

  int64_t num_files() const { return static_cast<int64_t>(files_.size()); }
  const ClipFile& file(uint64_t index) const { return files_[file_number(index)]; }

 private:
  /// Of a whole file, in the rate of the clips.
  struct Length {
    int64_t frames = 0;
    double fps = 0;
  };

  size_t file_number(uint64_t index) const;
  Length length_of(size_t number) const;
  int64_t start_of(uint64_t index, const Length& length) const;
  std::vector<at::Tensor> read_stretch(const ClipFile& file, int64_t start, double fps) const;
  std::vector<at::Tensor> read_video(const ClipFile& file, int64_t start, double fps) const;
  std::vector<at::Tensor> read_folder(const ClipFile& file, int64_t start, double fps) const;

  FileClipsOptions options_;
  ClipShape shape_;
  uint64_t seed_;
  std::vector<ClipFile> files_;
  mutable std::mutex mutex_;
  mutable std::map<size_t, Length> lengths_;  ///< asked for so far
};

}  // namespace lact::data
