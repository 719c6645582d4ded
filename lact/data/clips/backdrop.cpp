#include "lact/data/clips/backdrop.h"

#include <algorithm>

namespace lact::data::stories {

namespace {

Colour mixed_colour(const Colour& one, const Colour& other, float share) {
  return {one.red + share * (other.red - one.red), one.green + share * (other.green - one.green),
          one.blue + share * (other.blue - one.blue)};
}

}  // namespace

Backdrop random_backdrop(Random& random, const StoryOptions& options, bool pans) {
  const auto between = [&](float low, float high) {
    return low + (high - low) * static_cast<float>(random.uniform());
  };
  const auto height = static_cast<float>(options.height), width = static_cast<float>(options.width);
  Backdrop backdrop;
  backdrop.base = random_colour(random);
  // Duller than things are.
  backdrop.base.colour = mixed_colour(backdrop.base.colour, {0.5F, 0.5F, 0.5F}, 0.5F);
  const Colour& base = backdrop.base.colour;
  const auto tone = [&](float value) { return std::clamp(value + between(-0.2F, 0.2F), 0.0F, 1.0F); };
  backdrop.tone.red = tone(base.red);
  backdrop.tone.green = tone(base.green);
  backdrop.tone.blue = tone(base.blue);
  backdrop.seed = random.next();
  const int64_t count = pans ? 6 + random.below(6) : 1 + random.below(3);
  const float reach = pans ? 2.2F : 0.6F;
  for (int64_t i = 0; i < count; ++i) {
    Landmark landmark;
    landmark.look = random_look(random, between(0.1F, 0.3F) * std::min(width, height), -1);
    for (NamedColour* named : {&landmark.look.main, &landmark.look.second})
      named->colour = mixed_colour(base, named->colour, 0.25F);
    landmark.centre.x = width * (0.5F + between(-reach, reach));
    landmark.centre.y = height * (0.5F + between(-reach, reach));
    backdrop.landmarks.push_back(landmark);
  }
  return backdrop;
}

}  // namespace lact::data::stories
