#include "lact/data/clips/track.h"

#include <algorithm>

#include "lact/base/error.h"

namespace lact::data::stories {

namespace {

/// [0, 1] -> [0, 1]
float pace_of(Pace pace, float part) {
  switch (pace) {
    case Pace::speed_up:
      return part * part;
    case Pace::slow_down:
      return part * (2 - part);
    case Pace::even:
      break;
  }
  return part * part * (3 - 2 * part);
}

}  // namespace

void Track::move(int64_t begin, int64_t end, Point to, Pace pace) {
  LACT_ASSERT(begin < end && (moves_.empty() || begin >= moves_.back().end));
  moves_.push_back({begin, end, last(), to, pace});
}

Point Track::at(int64_t frame) const {
  const auto after = std::upper_bound(moves_.begin(), moves_.end(), frame,
                                      [](int64_t value, const Move& move) { return value < move.begin; });
  if (after == moves_.begin()) return start_;
  const Move& move = *std::prev(after);
  if (frame >= move.end) return move.to;
  const auto part = static_cast<float>(frame - move.begin) / static_cast<float>(move.end - move.begin);
  const float done = pace_of(move.pace, part);
  return {move.from.x + done * (move.to.x - move.from.x), move.from.y + done * (move.to.y - move.from.y)};
}

}  // namespace lact::data::stories
