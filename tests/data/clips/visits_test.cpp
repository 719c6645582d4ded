#include "lact/data/clips/visits.h"

#include <gtest/gtest.h>

namespace lact::data::stories {
namespace {

TEST(Visits, FillTheClipWithGapsOfTheLengthAskedFor) {
  StoryOptions options;
  options.chunks = 30;
  options.gap_min = 3;
  options.gap_max = 6;
  Random random(1);
  for (int attempt = 0; attempt < 100; ++attempt) {
    for (const bool late : {false, true}) {
      const auto visits = plan_visits(random, options, {.late = late});
      EXPECT_EQ(visits.back().end, 30);
      EXPECT_LE(visits[0].begin, late ? 2 : 0);
      for (size_t i = 1; i < visits.size(); ++i) {
        EXPECT_GE(visits[i].begin - visits[i - 1].end, 3);
        EXPECT_LE(visits[i].begin - visits[i - 1].end, 6);
        EXPECT_GE(visits[i].end - visits[i].begin, i + 1 < visits.size() ? 2 : 1);
      }
    }
  }
}

}  // namespace
}  // namespace lact::data::stories
