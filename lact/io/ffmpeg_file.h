// How a file from outside is given to ffmpeg, and what is said if it cannot be read.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "lact/io/child_process.h"

namespace lact::io {

/// ffmpeg reads "http://..." or "-y" as something else than a file; after "file:" every name is one.
inline std::string ffmpeg_file(const std::string& name) { return "file:" + name; }

/// Words before an input: no network, and none of the formats that are lists of other files.
inline const std::array<std::string, 4> kFfmpegFilesAlone = {
    "-protocol_whitelist", "file", "-format_whitelist",
    "mov,mp4,m4a,3gp,3g2,mj2,avi,matroska,webm,gif,mpeg,mpegts,mpegvideo,m4v"};

/// Starts ffmpeg or ffprobe to read `path`; a sentence if that is not possible.
void start_video_program(ChildProcess& process, std::vector<std::string> words, const std::string& path);

/// The sentence for a video that the program, which has ended, could not read: with its last line.
[[noreturn]] void fail_as_unreadable(const ChildProcess& process, const std::string& program,
                                     const std::string& path);

}  // namespace lact::io
