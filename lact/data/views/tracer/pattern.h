// Procedural textures: a colour for every point of space, so that no unwrapping is needed.
#pragma once

#include <cstdint>

#include "lact/data/views/tracer/vec.h"

namespace lact::data::tracer {

enum class PatternKind {
  kFlat,
  kChecker,   ///< cubes of alternating colours
  kStripes,   ///< layers across z
  kDots,      ///< balls of the second colour in a grid
  kGradient,  ///< from the first colour at z = -1 to the second at z = 1
  kClouds,    ///< smooth noise
  kMarble,    ///< layers across z, bent by noise
  kWood,      ///< rings around z, bent by noise
};
constexpr int kNumPatternKinds = 8;

struct Pattern {
  PatternKind kind = PatternKind::kFlat;
  Vec3 first{0.8F, 0.8F, 0.8F};  ///< colours as they are shown, in [0, 1]
  Vec3 second{0.2F, 0.2F, 0.2F};
  Mat3 frame;            ///< linear part of world -> pattern; its length is the frequency
  Vec3 centre{0, 0, 0};  ///< a world point that becomes the origin
  uint32_t noise_seed = 0;

  Vec3 colour(const Vec3& world_point) const;
};

/// Noise in [0, 1] that is smooth and has features of size 1; the same on every machine.
float value_noise(const Vec3& point, uint32_t seed);

}  // namespace lact::data::tracer
