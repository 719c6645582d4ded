#include "lact/data/clips/look.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "lact/base/error.h"

namespace lact::data::stories {

namespace {

constexpr std::array<std::string_view, kNumShapes> kShapeWords = {
    "disc", "square", "diamond", "triangle", "hexagon", "star", "cross", "ring", "moon"};

struct HueRegion {
  std::string_view word;
  Colour centre;
};
constexpr std::array<HueRegion, kNumHues> kHues = {{{"red", {0.85F, 0.12F, 0.12F}},
                                                    {"orange", {0.95F, 0.55F, 0.1F}},
                                                    {"yellow", {0.95F, 0.88F, 0.2F}},
                                                    {"green", {0.15F, 0.65F, 0.2F}},
                                                    {"blue", {0.15F, 0.3F, 0.85F}},
                                                    {"purple", {0.55F, 0.2F, 0.7F}},
                                                    {"pink", {0.95F, 0.55F, 0.75F}},
                                                    {"white", {0.93F, 0.93F, 0.93F}},
                                                    {"black", {0.08F, 0.08F, 0.08F}}}};
constexpr float kShade = 0.09F;

float clamp_unit(float value) { return std::clamp(value, 0.0F, 1.0F); }

/// Distance to the border of shapes of radius 1, negative inside; exact near the border, where it counts.
float polygon_distance(float x, float y, const float (*normals)[2], int sides, float apothem) {
  float distance = -apothem;
  for (int i = 0; i < sides; ++i)
    distance = std::max(distance, x * normals[i][0] + y * normals[i][1] - apothem);
  return distance;
}

constexpr float kTriangle[3][2] = {{0, 1}, {0.8660254F, -0.5F}, {-0.8660254F, -0.5F}};
constexpr float kHexagon[6][2] = {{0, 1},  {0.8660254F, 0.5F},   {0.8660254F, -0.5F},
                                  {0, -1}, {-0.8660254F, -0.5F}, {-0.8660254F, 0.5F}};

/// Five points: mirrored into the half of one point, where the border is a single line.
float star_distance(float x, float y) {
  constexpr float kCos36 = 0.809017F, kSin36 = 0.587785F, kNotch = 0.45F;
  x = std::fabs(x);
  const float beyond_right = 2 * std::max(kCos36 * x - kSin36 * y, 0.0F);
  x -= beyond_right * kCos36;
  y += beyond_right * kSin36;
  const float beyond_left = 2 * std::max(-kCos36 * x - kSin36 * y, 0.0F);
  x += beyond_left * kCos36;
  y += beyond_left * kSin36;
  x = std::fabs(x);
  // From the tip (0, 1) to the notch at 36 degrees.
  constexpr float kSideX = kNotch * kSin36, kSideY = kNotch * kCos36 - 1;
  static const float length = std::sqrt(kSideX * kSideX + kSideY * kSideY);
  return ((y - 1) * kSideX - x * kSideY) / length;
}

float box_distance(float x, float y, float half_x, float half_y) {
  return std::max(std::fabs(x) - half_x, std::fabs(y) - half_y);
}

float shape_distance(Shape shape, float x, float y) {
  constexpr float kDiagonal = 0.7071068F;
  switch (shape) {
    case Shape::square:
      return box_distance(x, y, kDiagonal, kDiagonal);
    case Shape::diamond:
      return (std::fabs(x) * 1.3F + std::fabs(y) - 1) * 0.61F;
    case Shape::triangle:
      return polygon_distance(x, y, kTriangle, 3, 0.5F);
    case Shape::hexagon:
      return polygon_distance(x, y, kHexagon, 6, 0.8660254F);
    case Shape::star:
      return star_distance(x, y);
    case Shape::cross:
      return std::min(box_distance(x, y, 0.94F, 0.32F), box_distance(x, y, 0.32F, 0.94F));
    case Shape::ring:
      return std::fabs(std::sqrt(x * x + y * y) - 0.7F) - 0.3F;
    case Shape::moon:
      return std::max(std::sqrt(x * x + y * y) - 1, 0.75F - std::sqrt((x - 0.55F) * (x - 0.55F) + y * y));
    case Shape::disc:
      break;
  }
  return std::sqrt(x * x + y * y) - 1;
}

/// A square wave of period 1 whose edges are as wide as a pixel: 1 around whole numbers, 0 between them.
float soft_wave(float position, float periods_per_pixel) {
  const float from_middle = std::fabs(position - std::floor(position) - 0.5F);
  return clamp_unit(0.5F + (from_middle - 0.25F) / periods_per_pixel);
}

}  // namespace

NamedColour random_colour(Random& random) {
  NamedColour result;
  result.hue = random.below(kNumHues);
  const Colour& centre = kHues[static_cast<size_t>(result.hue)].centre;
  const auto shade = [&](float value) {
    return clamp_unit(value + kShade * (2 * static_cast<float>(random.uniform()) - 1));
  };
  result.colour.red = shade(centre.red);
  result.colour.green = shade(centre.green);
  result.colour.blue = shade(centre.blue);
  return result;
}

Look random_look(Random& random, float radius, int64_t other_hue) {
  const auto turn = [&] { return static_cast<float>(random.uniform() * 6.283185307); };
  Look look;
  look.shape = static_cast<Shape>(random.below(kNumShapes));
  look.pattern = static_cast<Pattern>(random.below(kNumPatterns));
  do look.main = random_colour(random);
  while (look.main.hue == other_hue);
  do look.second = random_colour(random);
  while (look.second.hue == other_hue || look.second.hue == look.main.hue);
  look.radius = radius;
  look.angle = turn();
  look.pattern_angle = turn();
  look.pattern_phase = static_cast<float>(random.uniform());
  look.bands = 1.6F + static_cast<float>(random.uniform());
  return look;
}

std::string shape_word(Shape shape) { return std::string(kShapeWords[static_cast<size_t>(shape)]); }

std::string hue_word(int64_t hue) { return std::string(kHues[static_cast<size_t>(hue)].word); }

std::string look_words(const Look& look) {
  const std::string thing = hue_word(look.main.hue) + " " + shape_word(look.shape);
  const std::string other = hue_word(look.second.hue);
  switch (look.pattern) {
    case Pattern::stripes:
      return fmt::format("{} with {} stripes", thing, other);
    case Pattern::checks:
      return fmt::format("{} with {} checks", thing, other);
    case Pattern::dots:
      return fmt::format("{} with {} dots", thing, other);
    case Pattern::rings:
      return fmt::format("{} with {} rings", thing, other);
    case Pattern::halves:
      return fmt::format("half {} {}", other, thing);
    case Pattern::plain:
      break;
  }
  return thing;
}

Stamp::Stamp(const Look& look)
    : look_(look),
      cosine_(std::cos(look.angle)),
      sine_(std::sin(look.angle)),
      pattern_cosine_(std::cos(look.angle + look.pattern_angle)),
      pattern_sine_(std::sin(look.angle + look.pattern_angle)),
      frequency_(look.bands / (2 * look.radius)) {
  LACT_ASSERT(look.radius > 0 && look.bands > 0);
}

float Stamp::coverage(float x, float y) const {
  const float scale = 1 / look_.radius;
  const float rotated_x = (cosine_ * x + sine_ * y) * scale, rotated_y = (cosine_ * y - sine_ * x) * scale;
  // Beyond a sharp corner the distance to the nearest side is too small.
  const float beyond = std::sqrt(rotated_x * rotated_x + rotated_y * rotated_y) - 1;
  const float distance = std::max(shape_distance(look_.shape, rotated_x, rotated_y), beyond);
  return clamp_unit(0.5F - distance * look_.radius);
}

float Stamp::main_share(float across, float along) const {
  const float phase = look_.pattern_phase;
  switch (look_.pattern) {
    case Pattern::stripes:
      return soft_wave(across * frequency_ + phase, frequency_);
    case Pattern::checks: {
      const float first = soft_wave(across * frequency_ + phase, frequency_);
      const float second = soft_wave(along * frequency_ + phase, frequency_);
      return first * second + (1 - first) * (1 - second);
    }
    case Pattern::dots: {
      const float dot_x = across * frequency_ + phase, dot_y = along * frequency_ + phase;
      const float from_x = dot_x - std::floor(dot_x) - 0.5F, from_y = dot_y - std::floor(dot_y) - 0.5F;
      return clamp_unit(0.5F + (std::sqrt(from_x * from_x + from_y * from_y) - 0.3F) / frequency_);
    }
    case Pattern::rings:
      return soft_wave(std::sqrt(across * across + along * along) * frequency_ + phase, frequency_);
    case Pattern::halves:
      return clamp_unit(0.5F + across);
    case Pattern::plain:
      break;
  }
  return 1;
}

Colour Stamp::colour(float x, float y) const {
  const float share =
      main_share(pattern_cosine_ * x + pattern_sine_ * y, pattern_cosine_ * y - pattern_sine_ * x);
  const Colour &main = look_.main.colour, &second = look_.second.colour;
  return {second.red + share * (main.red - second.red), second.green + share * (main.green - second.green),
          second.blue + share * (main.blue - second.blue)};
}

}  // namespace lact::data::stories
