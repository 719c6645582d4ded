// What lies behind the things of a made-up clip.
#pragma once

#include <cstdint>
#include <vector>

#include "lact/base/random.h"
#include "lact/data/clips/look.h"
#include "lact/data/clips/story_options.h"
#include "lact/data/clips/track.h"

namespace lact::data::stories {

struct Landmark {
  Look look;
  Point centre;
};

/// Fixed in the world: two tones in soft patches, and faint shapes to tell places apart.
struct Backdrop {
  NamedColour base;
  Colour tone;
  uint64_t seed = 0;  ///< of the patches
  std::vector<Landmark> landmarks;
};

/// `pans`: landmarks also stand where a camera that pans away gets to.
Backdrop random_backdrop(Random& random, const StoryOptions& options, bool pans);

}  // namespace lact::data::stories
