#include "lact/data/clips/track.h"

#include <gtest/gtest.h>

namespace lact::data::stories {
namespace {

TEST(Track, MovesAndStays) {
  Track track({1, 2});
  track.move(4, 8, {5, 10}, Pace::speed_up);
  track.move(10, 12, {5, 0}, Pace::even);
  EXPECT_EQ(track.at(0), (Point{1, 2}));
  EXPECT_EQ(track.at(4), (Point{1, 2}));
  EXPECT_EQ(track.at(6), (Point{2, 4})) << "a quarter of the way in half the time";
  EXPECT_EQ(track.at(8), (Point{5, 10}));
  EXPECT_EQ(track.at(10), (Point{5, 10}));
  EXPECT_EQ(track.at(11), (Point{5, 5}));
  EXPECT_EQ(track.at(100), (Point{5, 0}));
  EXPECT_EQ(track.end(), 12);
  Track slowing({0, 0});
  slowing.move(0, 2, {4, 0}, Pace::slow_down);
  EXPECT_EQ(slowing.at(1), (Point{3, 0}));
}

}  // namespace
}  // namespace lact::data::stories
