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

struct VisitRules {
  bool late = false;  ///< the first one may begin later than with the clip
  int64_t least = 2;  ///< chunks of later ones: coming takes one and leaving another
};

/// Visits to the end of the clip, with gaps of gap_min to gap_max chunks. The first begins with chunk 0 and
/// leaves room for a second one; if it comes late, there may be only one.
std::vector<Visit> plan_visits(Random& random, const StoryOptions& options, const VisitRules& rules);

}  // namespace lact::data::stories
