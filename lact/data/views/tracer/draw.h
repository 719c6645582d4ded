// Random things in space. Only square roots are taken, so a seed gives the same scene on every machine.
// Arguments of a call are evaluated in any order: draw in statements or in braces, never twice in one call.
#pragma once

#include "lact/base/random.h"
#include "lact/data/views/tracer/vec.h"

namespace lact::data::tracer {

class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed) {}

  Random& random() { return random_; }
  bool chance(double probability) { return random_.uniform() < probability; }
  int below(int count) { return static_cast<int>(random_.below(count)); }
  float between(double low, double high) {
    return static_cast<float>(low + (high - low) * random_.uniform());
  }
  /// Around 1: as likely smaller by a factor as larger.
  float factor(double most) {
    const float value = between(1, most);
    return chance(0.5) ? value : 1 / value;
  }

  /// Evenly in the unit ball.
  Vec3 in_ball();
  /// Evenly on the unit sphere.
  Vec3 direction();
  /// Evenly over all rotations.
  Mat3 rotation();
  /// By any angle about z.
  Mat3 rotation_about_z();

  /// Any colour as shown, dull ones and vivid ones, none quite black.
  Vec3 colour();
  /// A colour that is clearly darker, lighter or of another hue than `other`.
  Vec3 colour_unlike(const Vec3& other);
  /// A light grey with a tinge, of the given strength.
  Vec3 tinged(float strength, double tinge);

 private:
  Random random_;
};

}  // namespace lact::data::tracer
