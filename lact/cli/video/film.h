// Generated chunks on their way to a file: solved, decoded and written one after the other, so that no more
// than one of them is in memory.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lact/cli/video/video.h"
#include "lact/models/video/sample.h"

namespace lact::cli {

/// One video to make, or to go on with.
struct FilmOrder {
  std::string prompt, output;
  std::string state;  ///< written at the end; "": not
};

struct FilmSettings {
  int64_t chunks = 1;  ///< to make now
  double fps = 16;
  std::function<bool()> stop;                                 ///< asked after every step
  std::function<void(int64_t chunk, int64_t steps)> on_step;  ///< after it
};

/// What was made: less than what was ordered if it was stopped.
struct Film {
  int64_t chunks = 0, frames = 0, height = 0, width = 0;
  bool stopped = false;
  double seconds = 0;
  std::vector<int64_t> resident_bytes;  ///< after each chunk
};

/// Makes a video from a fresh or loaded sampling and the decoder that goes with it. A stopped video ends
/// after its last finished chunk; nothing is written if there is none.
Film make_film(const tasks::video::Loaded& video, models::VideoSampling sampling,
               models::CodecStream& decoder, const FilmOrder& order, const FilmSettings& settings);

}  // namespace lact::cli
