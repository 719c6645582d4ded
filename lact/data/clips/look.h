// What a thing in a made-up clip looks like: a shape filled with a pattern of two colours.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "lact/base/random.h"

namespace lact::data::stories {

struct Colour {
  float red = 0, green = 0, blue = 0;  ///< [0, 1]
};

enum class Shape { disc, square, diamond, triangle, hexagon, star, cross, ring, moon };
enum class Pattern { plain, stripes, checks, dots, rings, halves };
constexpr int64_t kNumShapes = 9, kNumPatterns = 6;

/// Colours by name, so that a caption can tell them; each is a region of shades.
constexpr int64_t kNumHues = 9;
struct NamedColour {
  int64_t hue = 0;
  Colour colour;
};

struct Look {
  Shape shape = Shape::disc;
  Pattern pattern = Pattern::plain;
  NamedColour main, second;
  float radius = 8;         ///< pixels; all of the shape lies within
  float angle = 0;          ///< of the shape
  float pattern_angle = 0;  ///< relative to the shape
  float pattern_phase = 0;  ///< periods
  float bands = 2;          ///< periods of the pattern across the shape
};

NamedColour random_colour(Random& random);
/// Neither of its colours is of the hue `other`, which is that of the background.
Look random_look(Random& random, float radius, int64_t other_hue);

/// "star"
std::string shape_word(Shape shape);
/// "red star with white stripes", "yellow disc"
std::string look_words(const Look& look);
std::string hue_word(int64_t hue);

/// A look made ready for painting: its sine, cosine and scales.
class Stamp {
 public:
  explicit Stamp(const Look& look);

  /// How much of the pixel around (x, y), in pixels from the centre, the thing covers; its colour there.
  float coverage(float x, float y) const;
  Colour colour(float x, float y) const;
  float radius() const { return look_.radius; }

 private:
  float main_share(float across, float along) const;

  Look look_;
  float cosine_, sine_, pattern_cosine_, pattern_sine_, frequency_;
};

}  // namespace lact::data::stories
