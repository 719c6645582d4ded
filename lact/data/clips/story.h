// Made-up clips in which memory matters: things leave the frame, hide behind a pillar, or are left behind by
// the camera, for longer than a window of a few chunks, and come back looking as they did.
//
// A caption names their shapes and what they do. It does not tell the colours and patterns of what goes and
// comes back, so that these have to be remembered from the frames; what stays in view is described.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lact/data/clips/backdrop.h"
#include "lact/data/clips/look.h"
#include "lact/data/clips/story_options.h"
#include "lact/data/clips/track.h"

namespace lact::data::stories {

struct Thing {
  Look look;
  Track track;  ///< of its centre, in the world
};

/// Stands in front of all things, from top to bottom.
struct Pillar {
  float centre = 0, width = 0;
  Colour colour;
};

/// The frame shows the part of the world whose top left corner is where the camera is.
struct Story {
  StoryOptions options;
  Backdrop backdrop;
  std::vector<Thing> things;  ///< from back to front
  std::optional<Pillar> pillar;
  Track camera;
  std::string caption;
};

/// The options and the seed decide everything.
Story make_story(const StoryOptions& options, uint64_t seed);

}  // namespace lact::data::stories
