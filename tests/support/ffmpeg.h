// FFmpeg, where it is installed.
#pragma once

#include <cstdlib>
#include <string>

#include "support/temporary_folder.h"

namespace lact::testing {

inline bool ffmpeg_is_installed() { return std::system("ffmpeg -version >/dev/null 2>&1") == 0; }

/// All frames of a video as bytes of red, green and blue.
inline std::string decode_video(const std::string& file) {
  const TemporaryFolder folder;
  const std::string raw = folder / "raw";
  const std::string command = "ffmpeg -nostdin -loglevel error -i '" + file +
                              "' -fps_mode passthrough -f rawvideo -pix_fmt rgb24 '" + raw + "'";
  return std::system(command.c_str()) == 0 ? read_file(raw) : "";
}

}  // namespace lact::testing
