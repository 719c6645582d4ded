// Distances between neighbouring points.
#pragma once

#include <vector>

#include "lact/data/views/pose.h"

namespace lact::tasks::nvs {

/// For each point the root of the mean squared distance to the three points nearest to it (fewer where there
/// are fewer; 0 for a single point).
std::vector<double> neighbour_distances(const std::vector<data::Point>& points);

}  // namespace lact::tasks::nvs
