// When something is in view: stretches of whole chunks with gaps between them.
#pragma once

#include <cstdint>
#include <vector>

#include "lact/base/random.h"
#include "lact/data/clips/story_options.h"

namespace lact::data::stories {

struct Visit {
  int64_t begin = 0, end = 0;  ///< chunks
  bool operator==(const Visit&) const = default;
};

/// Visits to the end of the clip, with gaps of gap_min to gap_max chunks. The first begins with chunk 0 and
/// is short enough for a second one; one that is `late` may begin later, and then there may be only one.
std::vector<Visit> plan_visits(Random& random, const StoryOptions& options, bool late);

}  // namespace lact::data::stories
