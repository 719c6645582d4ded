// Captions of made-up clips.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lact/data/clips/look.h"

namespace lact::data::stories {

enum class Side { left, right, top, bottom };

/// What a thing does in a clip.
struct Event {
  enum class Kind {
    stays,           ///< in view
    comes,           ///< into view, once
    comes_and_goes,  ///< into view, and again later
    leaves,          ///< the frame, and comes back
    hides,           ///< behind the pillar, and comes out again
    home,            ///< is where the camera starts and returns to
    away             ///< is where the camera goes
  };
  Look look;
  Kind kind = Kind::stays;
  Side side = Side::left;   ///< of the frame, where it leaves
  bool tells_look = false;  ///< or the shape alone
};

/// "A star leaves to the left and comes back. A red disc with white dots stays." `pan` is where the camera
/// goes.
std::string story_words(const std::vector<Event>& events, std::optional<Side> pan);

}  // namespace lact::data::stories
