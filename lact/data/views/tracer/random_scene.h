// Scenes made of a seed alone: endless training data without a download.
#pragma once

#include <cstdint>
#include <memory>

#include "lact/data/views/tracer/scene.h"

namespace lact::data::tracer {

/// Several things with patterns in the unit ball: strewn about, standing on a plate or on endless ground,
/// stacked, or put together to a figure. The same for a seed on every machine.
Scene random_scene(uint64_t seed);

/// One mesh about the origin, rotated about z, often as it is and sometimes as its mirror image, with changed
/// colours and random light. A mesh without colours gets a pattern.
Scene mesh_scene(std::shared_ptr<const Mesh> mesh, uint64_t seed);

}  // namespace lact::data::tracer
