// What models with a Gaussian head share: from Gaussians to the views of a training step, and to a scene.
#pragma once

#include <vector>

#include "lact/models/nvs/view_model.h"

namespace lact::models {

/// The views that are to be shown, drawn on white, one after the other with the memory of one. `scenes` has
/// the batch in front; training keeps what config.keep says.
Prediction show_gaussians(const ops::Gaussians& scenes, const SceneViews& views,
                          const GaussiansConfig& config);

/// One picture [3, height, width] in [0, 1].
at::Tensor draw_gaussians(const ops::Gaussians& gaussians, const at::Tensor& intrinsics,
                          const at::Tensor& camera_to_world, int64_t height, int64_t width);

/// A scene of the Gaussians of pieces, which have a batch of 1 in front; where ranks share its views, of all
/// of them. The most opaque ones are kept.
std::unique_ptr<NvsState> gaussian_scene(const std::vector<ops::Gaussians>& pieces,
                                         const GaussiansConfig& config, const parallel::Group& ranks);

/// A scene without any.
std::unique_ptr<NvsState> empty_gaussian_scene(const GaussiansConfig& config);

}  // namespace lact::models
