// What random scenes are put together from.
#pragma once

#include "lact/data/views/tracer/draw.h"
#include "lact/data/views/tracer/scene.h"

namespace lact::data::tracer {

/// A box that a part fills.
struct Placement {
  Vec3 centre{0, 0, 0};
  Mat3 rotation;       ///< part -> world
  Vec3 half{1, 1, 1};  ///< half the sides, in the part's frame
};

/// The same on the other side of the plane x = 0.
Placement mirrored(const Placement& placement);

/// Adds a material with a pattern that has a few periods within the placement; gives its index.
int add_material(Scene& scene, Draw& draw, const Placement& placement);

/// An ellipsoid, box, cylinder or cone. Symmetric in x, so that it has a mirror image.
Convex random_convex(Draw& draw, const Placement& placement);

/// Adds any part: a convex one, one that is drilled, hollowed or trimmed, a torus, a rounded box or a blob.
void add_part(Scene& scene, Draw& draw, const Placement& placement);

/// One main light with shadows, now and then a second one, and light from all around.
void add_lights(Scene& scene, Draw& draw);

/// White with this probability, or else a colour, or one colour below and another above.
void choose_background(Scene& scene, Draw& draw, double white);

}  // namespace lact::data::tracer
