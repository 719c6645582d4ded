// Where something is in each frame of a made-up clip.
#pragma once

#include <cstdint>
#include <vector>

namespace lact::data::stories {

struct Point {
  float x = 0, y = 0;  ///< pixels; y points down
  bool operator==(const Point&) const = default;
};

enum class Pace { speed_up, slow_down, even };

/// Stays at the beginning of the first move, and between moves.
class Track {
 public:
  explicit Track(Point start = {}) : start_(start) {}

  /// From wherever it is in frame `begin` to `to` in frame `end`; moves are added in order of time and do not
  /// overlap.
  void move(int64_t begin, int64_t end, Point to, Pace pace);

  Point at(int64_t frame) const;
  /// After all moves.
  Point last() const { return moves_.empty() ? start_ : moves_.back().to; }
  /// The frame in which the last move ends.
  int64_t end() const { return moves_.empty() ? 0 : moves_.back().end; }

 private:
  struct Move {
    int64_t begin, end;
    Point from, to;
    Pace pace;
  };

  Point start_;
  std::vector<Move> moves_;
};

}  // namespace lact::data::stories
