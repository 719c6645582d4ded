#include "lact/data/clips/story.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "lact/base/error.h"
#include "lact/data/clips/story_words.h"
#include "lact/data/clips/visits.h"

namespace lact::data::stories {

namespace {

constexpr float kOutside = 1.5F;  ///< pixels between the frame and what has left it

/// Part of a lane, from left to right, where a thing can stand in full view.
struct Zone {
  float left = 0, right = 0;
};

class StoryMaker {
 public:
  StoryMaker(const StoryOptions& options, uint64_t seed) : options_(options), random_(seed) {
    story_.options = options;
  }

  Story make() {
    const double kind = random_.uniform();
    const bool pans = kind < options_.pans;
    story_.backdrop = random_backdrop(random_, options_, pans);
    num_things_ = 1 + random_.below(options_.things);
    if (pans) {
      pan_away();
    } else {
      if (kind < options_.pans + options_.pillars) put_pillar();
      for (int64_t lane = 0; lane < num_things_; ++lane) {
        // Whatever else happens, the first thing goes and comes back.
        if (lane == 0 || random_.uniform() < 0.6) {
          add_visitor(lane);
        } else {
          add_resident(lane);
        }
      }
    }
    story_.caption = story_words(events_, pan_);
    return std::move(story_);
  }

 private:
  float width() const { return static_cast<float>(options_.width); }
  float height() const { return static_cast<float>(options_.height); }
  float between(float low, float high) { return low + (high - low) * static_cast<float>(random_.uniform()); }

  /// Frames that going out of view or coming into it takes: less than a chunk.
  int64_t leaving_frames() const { return std::clamp<int64_t>(options_.chunk_frames * 3 / 4, 1, 12); }
  int64_t coming_frames() const { return std::clamp<int64_t>(options_.chunk_frames / 2, 1, 8); }

  float largest_radius() const {
    const float side = std::min(width(), height());
    const float share = story_.pillar ? 0.16F : 0.22F;
    return std::min(share * side, 0.42F * height() / static_cast<float>(num_things_));
  }

  Look new_look() {
    const float radius = largest_radius() * between(0.75F, 1);
    Look look = random_look(random_, radius, story_.backdrop.base.hue);
    // Captions tell things apart by their shapes.
    while (!shapes_.insert(look.shape).second) look.shape = static_cast<Shape>(random_.below(kNumShapes));
    return look;
  }

  void put_pillar() {
    story_.pillar.emplace();
    Pillar& pillar = *story_.pillar;
    pillar.width = std::ceil(2 * largest_radius()) + 4;
    // One side at least has room for a thing beside it.
    const float room = 2 * largest_radius() + 3;
    float centre = between(room + pillar.width / 2, width() - 2);
    if (random_.uniform() < 0.5) centre = width() - centre;
    pillar.centre = std::round(centre);
    do pillar.colour = random_colour(random_).colour;
    while (too_similar(pillar.colour, story_.backdrop.base.colour));
  }

  static bool too_similar(const Colour& one, const Colour& other) {
    const float red = one.red - other.red, green = one.green - other.green, blue = one.blue - other.blue;
    return red * red + green * green + blue * blue < 0.1F;
  }

  std::vector<Zone> zones(float radius) const {
    const float margin = radius + 1;
    if (!story_.pillar) return {{margin, width() - margin}};
    const Pillar& pillar = *story_.pillar;
    std::vector<Zone> result;
    for (const Zone zone : {Zone{margin, pillar.centre - pillar.width / 2 - margin},
                            Zone{pillar.centre + pillar.width / 2 + margin, width() - margin}})
      if (zone.left <= zone.right) result.push_back(zone);
    return result;
  }

  float lane_middle(int64_t lane) const {
    return std::round(height() * (static_cast<float>(lane) + 0.5F) / static_cast<float>(num_things_));
  }

  /// On whole pixels, so that a thing looks the same wherever it stands.
  Point spot_in(const Zone& zone, int64_t lane) {
    const float x = std::clamp(std::round(between(zone.left, zone.right)), zone.left, zone.right);
    return {std::floor(x), lane_middle(lane)};
  }

  /// Strolls about in its zone from frame `begin` on; stands still from `end` on.
  void stroll(Track& track, const Zone& zone, int64_t lane, int64_t begin, int64_t end) {
    while (true) {
      begin += random_.below(options_.chunk_frames + 1);
      const int64_t arrival = begin + 2 + random_.below(2 * options_.chunk_frames);
      if (arrival > end) return;
      track.move(begin, arrival, spot_in(zone, lane), Pace::even);
      begin = arrival;
    }
  }

  /// Always in view.
  void add_resident(int64_t lane) {
    Thing thing;
    thing.look = new_look();
    const auto all = zones(thing.look.radius);
    const Zone zone = random_.choice(all);
    thing.track = Track(spot_in(zone, lane));
    stroll(thing.track, zone, lane, 0, options_.shape().frames);
    events_.push_back({thing.look, Event::Kind::stays, Side::left, true});
    story_.things.push_back(std::move(thing));
  }

  Side random_side(int64_t lane) {
    std::vector<Side> sides = {Side::left, Side::right};
    if (lane == 0) sides.push_back(Side::top);
    if (lane == num_things_ - 1) sides.push_back(Side::bottom);
    return random_.choice(sides);
  }

  Point outside(Side side, const Point& near, float radius) const {
    const float margin = radius + kOutside;
    switch (side) {
      case Side::left:
        return {-margin, near.y};
      case Side::right:
        return {width() + margin, near.y};
      case Side::top:
        return {near.x, -margin};
      case Side::bottom:
        break;
    }
    return {near.x, height() + margin};
  }

  /// Goes away and comes back, each time to the beginning of a chunk.
  void add_visitor(int64_t lane) {
    Thing thing;
    thing.look = new_look();
    const float radius = thing.look.radius;
    const auto all = zones(radius);
    const auto visits = plan_visits(random_, options_, {.late = lane > 0});
    Zone zone = random_.choice(all);
    Point spot = spot_in(zone, lane);
    thing.track = Track(visits[0].begin == 0 ? spot : outside(random_side(lane), spot, radius));
    const auto late_kind = visits.size() > 1 ? Event::Kind::comes_and_goes : Event::Kind::comes;
    Event event{thing.look, late_kind, Side::left, options_.tell_looks};
    bool hidden = false;
    for (size_t i = 0; i < visits.size(); ++i) {
      if (visits[i].begin > 0) {
        zone = random_.choice(all);
        if (random_.uniform() < 0.5) spot = spot_in(zone, lane);
        if (i > 0 && !hidden && random_.uniform() < 0.4)
          change_sides(thing.track, visits[i].begin, outside(random_side(lane), spot, radius));
        come(thing.track, visits[i].begin, spot);
        zone = zone_around(all, spot);
      }
      const int64_t frames = options_.shape().frames;
      const bool leaves = visits[i].end < options_.chunks;
      const int64_t leaving = leaves ? options_.chunk_begin(visits[i].end) - leaving_frames() : frames;
      stroll(thing.track, zone, lane, std::max<int64_t>(0, thing.track.end()), leaving);
      if (!leaves) break;
      spot = thing.track.last();
      hidden = story_.pillar && random_.uniform() < 0.75;
      const Side side = random_side(lane);
      const Point away = hidden ? Point{story_.pillar->centre, spot.y} : outside(side, spot, radius);
      const int64_t gone = options_.chunk_begin(visits[i].end);
      thing.track.move(std::max(thing.track.end(), gone - leaving_frames()), gone, away, Pace::speed_up);
      if (i == 0 && visits[0].begin == 0) {
        event.kind = hidden ? Event::Kind::hides : Event::Kind::leaves;
        event.side = side;
      }
    }
    events_.push_back(event);
    story_.things.push_back(std::move(thing));
  }

  /// Unseen, between two frames, just before it comes back.
  void change_sides(Track& track, int64_t chunk, const Point& to) {
    const int64_t before = options_.chunk_begin(chunk) - 1;
    if (track.end() < before) track.move(before - 1, before, to, Pace::even);
  }

  static Zone zone_around(const std::vector<Zone>& all, const Point& spot) {
    for (const Zone& zone : all)
      if (spot.x >= zone.left - 1 && spot.x <= zone.right + 1) return zone;
    return all[0];
  }

  /// The first frame of the chunk is the first that shows something of it.
  void come(Track& track, int64_t chunk, const Point& spot) {
    const int64_t before = options_.chunk_begin(chunk) - 1;
    track.move(std::max(before, track.end()), before + coming_frames(), spot, Pace::slow_down);
  }

  /// The camera goes to another place and returns; things stay where they are.
  void pan_away() {
    constexpr std::array<Point, 4> kWays = {{{1, 0}, {-1, 0}, {0, 1}, {0, -1}}};
    constexpr std::array<Side, 4> kSides = {Side::right, Side::left, Side::bottom, Side::top};
    const auto way = static_cast<size_t>(random_.below(4));
    const float far = between(1.15F, 1.4F);
    const Point away = {std::round(kWays[way].x * far * width()), std::round(kWays[way].y * far * height())};
    pan_ = kSides[way];
    for (const Point& place : {Point{}, away}) {
      num_things_ = 1 + random_.below(options_.things);
      for (int64_t lane = 0; lane < num_things_ && shapes_.size() < kNumShapes; ++lane) {
        Thing thing;
        thing.look = new_look();
        const Zone zone = zones(thing.look.radius)[0];
        Point spot = spot_in(zone, lane);
        thing.track = Track({spot.x + place.x, spot.y + place.y});
        events_.push_back({thing.look, place == Point{} ? Event::Kind::home : Event::Kind::away, Side::left,
                           options_.tell_looks});
        story_.things.push_back(std::move(thing));
      }
    }
    // While the camera is at home, what it saw elsewhere is out of view, and for long enough as well.
    const auto visits = plan_visits(random_, options_, {.least = options_.gap_min + 2});
    for (const Visit& visit : visits) {
      if (visit.begin > 0) come(story_.camera, visit.begin, {});
      if (visit.end == options_.chunks) break;
      const int64_t gone = options_.chunk_begin(visit.end);
      story_.camera.move(std::max(story_.camera.end(), gone - leaving_frames()), gone, away, Pace::even);
    }
  }

  const StoryOptions options_;
  Random random_;
  Story story_;
  int64_t num_things_ = 1;
  std::set<Shape> shapes_;
  std::vector<Event> events_;
  std::optional<Side> pan_;
};

}  // namespace

Story make_story(const StoryOptions& options, uint64_t seed) {
  options.check();
  return StoryMaker(options, seed).make();
}

}  // namespace lact::data::stories
