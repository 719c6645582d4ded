// Clips on the disk: videos, folders of frames, and the captions that belong to them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lact/data/clips/clip.h"

namespace lact::data {

struct ClipFile {
  std::string path;  ///< a video, or a folder of PNG and JPEG pictures
  bool is_folder = false;
  std::string caption;
};

/// Each path is a video, a folder of frames, a folder with any of these below it, or a list: a .jsonl file
/// with {"video": "a/b.mp4", "caption": "..."} in each line, paths counted from the list's folder. A caption
/// that the list does not give stands in b.txt beside b.mp4, or beside or as caption.txt in a folder of
/// frames. Without a caption a sentence is thrown, unless it may be empty. Sorted as found, folders by name.
std::vector<ClipFile> find_clip_files(const std::vector<std::string>& paths, bool allow_empty_captions);

/// Pictures of a folder of frames in the order of their numbers: frame_2.png before frame_10.png.
std::vector<std::string> find_frames(const std::string& folder);

/// About `valid_share` of the files are kept for validation, chosen by a hash of the name. A file that is
/// listed several times, also by different names, is in one part only.
std::vector<ClipFile> split_clip_files(const std::vector<ClipFile>& files, ClipPart part, double valid_share);

}  // namespace lact::data
