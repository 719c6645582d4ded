// How long made-up clips are, and for how long things are away in them.
#pragma once

#include <cstdint>

#include "lact/data/clips/clip.h"

namespace lact::data {

struct StoryOptions {
  int64_t chunks = 8;
  int64_t chunk_frames = 4;
  int64_t first_chunk_short = 0;
  int64_t gap_min = 2;
  int64_t gap_max = 4;
  int64_t height = 32;
  int64_t width = 32;
  int64_t things = 3;
  double pillars = 0.35;
  double pans = 0.3;
  bool tell_looks = false;
  double fps = 8;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("chunks", chunks, "chunks of a clip");
    field("chunk_frames", chunk_frames, "frames of a chunk, in pixels and not in latents");
    field("first_chunk_short", first_chunk_short,
          "frames that the first chunk lacks: with a causal codec, its temporal factor less one");
    field("gap_min", gap_min, "whole chunks for which a thing is away, at least");
    field("gap_max", gap_max, "whole chunks for which a thing is away, at most");
    field("height", height, "height of a frame in pixels");
    field("width", width, "width of a frame in pixels");
    field("things", things, "moving things of a clip, at most");
    field("pillars", pillars, "share of clips with a pillar to hide behind");
    field("pans", pans, "share of clips in which the camera pans away and returns");
    field("tell_looks", tell_looks, "captions tell the looks of all things, also of those to be remembered");
    field("fps", fps, "frames per second that the clips claim");
  }
  bool operator==(const StoryOptions&) const = default;

  /// Throws one sentence for options that cannot be.
  void check() const;
  /// The same for those that say nothing of length and size, which others may still derive from them.
  void check_contents() const;

  ClipShape shape() const { return {chunks * chunk_frames - first_chunk_short, height, width}; }
  /// The first frame of a chunk; that of chunk `chunks` is the number of frames.
  int64_t chunk_begin(int64_t chunk) const;
  int64_t chunk_of(int64_t frame) const { return (frame + first_chunk_short) / chunk_frames; }
};

}  // namespace lact::data
