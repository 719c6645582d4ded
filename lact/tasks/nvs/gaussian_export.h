// The Gaussians of a scene, for other programs.
#pragma once

#include <string>

#include "lact/models/nvs/scene_file.h"

namespace lact::tasks::nvs {

/// In the coordinates in which the photos' cameras were given; those that are more opaque than `opacity`.
ops::Gaussians gaussians_in_world(const models::NvsScene& scene, double opacity);

/// Throws a sentence unless scenes of the model are Gaussians.
void check_gives_gaussians(const models::NvsConfig& config, const std::string& what);

}  // namespace lact::tasks::nvs
