#include "lact/data/clips/visits.h"

#include <algorithm>
#include <cmath>

#include "lact/base/error.h"

namespace lact::data {

namespace {

constexpr int64_t kMostChunks = 1 << 16;

void check_between(const char* name, int64_t value, int64_t least, int64_t most) {
  LACT_CHECK(value >= least && value <= most, "[clips] {} is {}, expected {} to {}", name, value, least,
             most);
}

}  // namespace

void StoryOptions::check() const {
  check_contents();
  check_between("chunk_frames", chunk_frames, 1, kMostChunks);
  check_between("first_chunk_short", first_chunk_short, 0, chunk_frames - 1);
  check_between("chunks", chunks, gap_min + 2, kMostChunks);
  check_between("height", height, 16, 4096);
  check_between("width", width, 16, 4096);
  shape().check();
}

void StoryOptions::check_contents() const {
  check_between("gap_min", gap_min, 1, kMostChunks);
  check_between("gap_max", gap_max, gap_min, kMostChunks);
  check_between("things", things, 1, 6);
  LACT_CHECK(pillars >= 0 && pans >= 0 && pillars + pans <= 1,
             "[clips] pillars is {} and pans {}, expected shares that are 1 together at most", pillars, pans);
  LACT_CHECK(std::isfinite(fps) && fps > 0, "[clips] fps is {}, expected more than 0", fps);
}

int64_t StoryOptions::chunk_begin(int64_t chunk) const {
  return std::max<int64_t>(0, chunk * chunk_frames - first_chunk_short);
}

namespace stories {

std::vector<Visit> plan_visits(Random& random, const StoryOptions& options, const VisitRules& rules) {
  std::vector<Visit> visits;
  int64_t begin = rules.late ? random.below(3) : 0;
  while (true) {
    const int64_t least = begin == 0 ? 1 : rules.least;
    const int64_t room = options.chunks - begin - options.gap_min - 1;
    if (room < least) break;
    const int64_t end = begin + std::min(room, least + random.below(2));
    const int64_t longest = std::min(options.gap_max, options.chunks - end - 1);
    visits.push_back({begin, end});
    begin = end + options.gap_min + random.below(longest - options.gap_min + 1);
  }
  if (begin < options.chunks) visits.push_back({begin, options.chunks});
  return visits;
}

}  // namespace stories

}  // namespace lact::data
