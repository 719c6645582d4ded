#include "lact/data/clips/look.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lact::data::stories {
namespace {

float covered_area(const Stamp& stamp, float x, float y) {
  float area = 0;
  for (int row = -30; row < 30; ++row)
    for (int column = -30; column < 30; ++column)
      area += stamp.coverage(float(column) + 0.5F - x, float(row) + 0.5F - y);
  return area;
}

TEST(Look, ShapesHaveTheirArea) {
  Look look;
  look.radius = 20;
  const auto area = [&](Shape shape) {
    look.shape = shape;
    return covered_area(Stamp(look), 0, 0) / (20 * 20);
  };
  EXPECT_NEAR(area(Shape::disc), M_PI, 0.01);
  EXPECT_NEAR(area(Shape::square), 2, 0.01);
  EXPECT_NEAR(area(Shape::diamond), 2 / 1.3, 0.02);
  EXPECT_NEAR(area(Shape::triangle), 3 * std::sqrt(3) / 4, 0.02);
  EXPECT_NEAR(area(Shape::hexagon), 3 * std::sqrt(3) / 2, 0.01);
  EXPECT_NEAR(area(Shape::star), 5 * 0.45 * std::sin(M_PI / 5), 0.02);
  EXPECT_NEAR(area(Shape::cross), 4 * (0.94 * 0.32 * 2 - 0.32 * 0.32), 0.01);
  EXPECT_NEAR(area(Shape::ring), M_PI * (1 - 0.16), 0.02);
}

TEST(Look, EdgesAreSmooth) {
  Random random(1);
  for (int i = 0; i < kNumShapes; ++i) {
    Look look = random_look(random, 6, -1);
    look.shape = static_cast<Shape>(i);
    const Stamp stamp(look);
    const float area = covered_area(stamp, 0, 0);
    float before = area;
    for (float x = 0.1F; x < 1; x += 0.1F) {
      const float now = covered_area(stamp, x, x / 3);
      EXPECT_NEAR(now, area, 1.5) << "an area between pixels is still the same: " << shape_word(look.shape);
      EXPECT_NEAR(now, before, 0.8);
      before = now;
    }
  }
}

TEST(Look, AllOfAShapeLiesWithinItsRadius) {
  Random random(2);
  for (int attempt = 0; attempt < 50; ++attempt) {
    const Stamp stamp(random_look(random, 7, -1));
    for (float angle = 0; angle < 6.3F; angle += 0.05F)
      EXPECT_EQ(stamp.coverage(8 * std::cos(angle), 8 * std::sin(angle)), 0);
  }
}

TEST(Look, PatternsMixTheTwoColours) {
  Random random(3);
  for (int pattern = 0; pattern < kNumPatterns; ++pattern) {
    Look look = random_look(random, 16, -1);
    look.pattern = static_cast<Pattern>(pattern);
    look.main.colour = {1, 1, 1};
    look.second.colour = {0, 0, 0};
    const Stamp stamp(look);
    double mean = 0;
    for (int row = -10; row < 10; ++row)
      for (int column = -10; column < 10; ++column) {
        const Colour colour = stamp.colour(float(column), float(row));
        EXPECT_GE(colour.red, 0);
        EXPECT_LE(colour.red, 1);
        EXPECT_EQ(colour.red, colour.blue);
        mean += colour.red / 400;
      }
    if (look.pattern == Pattern::plain) {
      EXPECT_NEAR(mean, 1, 1e-6);
    } else {
      EXPECT_GT(mean, 0.25) << pattern;
      EXPECT_LT(mean, 0.85) << pattern;
    }
  }
}

TEST(Look, ColoursKeepAwayFromTheBackgroundAndFromEachOther) {
  Random random(4);
  for (int attempt = 0; attempt < 200; ++attempt) {
    const Look look = random_look(random, 5, 3);
    EXPECT_NE(look.main.hue, 3);
    EXPECT_NE(look.second.hue, 3);
    EXPECT_NE(look.main.hue, look.second.hue);
  }
}

TEST(Look, WordsTellItAll) {
  Look look;
  look.shape = Shape::star;
  look.main.hue = 0;
  look.second.hue = 7;
  look.pattern = Pattern::stripes;
  EXPECT_EQ(look_words(look), "red star with white stripes");
  look.pattern = Pattern::plain;
  EXPECT_EQ(look_words(look), "red star");
  look.pattern = Pattern::halves;
  EXPECT_EQ(look_words(look), "half white red star");
}

}  // namespace
}  // namespace lact::data::stories
