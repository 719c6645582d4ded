#include "lact/tasks/nvs/fitting/held_out.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/data/views/load_views.h"
#include "lact/data/views/select.h"
#include "lact/tasks/nvs/growing_scene.h"

namespace lact::tasks::nvs {

HeldOut held_out_photos(const data::Capture& capture, const HeldOutOptions& options) {
  const std::vector<data::Camera> all = data::cameras_of(capture);
  LACT_CHECK(all.size() >= 3,
             "{}: has {} photos, but at least 3 are needed: one is held out, and of the others some are read "
             "and some guessed",
             capture.source, all.size());
  data::ViewSelection selection;
  selection.target_every = options.every;
  selection.num_inputs = options.views;
  const data::ViewSplit split = data::select_views(all, selection);
  const data::SceneFrame frame = frame_of_photos(capture, split.inputs, options.frame);
  HeldOut photos;
  photos.inputs = split.inputs;
  photos.targets = split.targets;
  data::ViewLoader loader(capture, options.size.height, options.size.width);
  photos.shown = loader.load(photos.inputs);
  photos.truth = loader.load(photos.targets);
  for (auto* views : {&photos.shown, &photos.truth}) views->cameras = data::to_scene(frame, views->cameras);
  return photos;
}

at::Tensor render_held_out(models::ViewModel& model, const HeldOut& photos) {
  const auto state = model.reconstruct(photos.shown.images, data::intrinsics_of(photos.shown.cameras),
                                       data::camera_to_world_of(photos.shown.cameras));
  std::vector<at::Tensor> views;
  for (const data::Camera& camera : photos.truth.cameras)
    views.push_back(model.render(*state, data::intrinsics_of({camera})[0],
                                 data::camera_to_world_of({camera})[0], camera.height, camera.width));
  return at::stack(views);
}

}  // namespace lact::tasks::nvs
