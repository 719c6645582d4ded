#include "lact/tasks/nvs/growing_scene.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/data/views/load_views.h"

namespace lact::tasks::nvs {

data::SceneFrame frame_of_photos(const data::Capture& photos, const std::vector<int64_t>& chosen,
                                 data::FrameChoice choice) {
  const std::vector<data::Camera> all = data::cameras_of(photos);
  if (choice == data::FrameChoice::object) return data::scene_frame(all, choice);
  std::vector<data::Camera> read;
  for (const int64_t view : chosen) read.push_back(all[size_t(view)]);
  return data::scene_frame(read, choice);
}

GrowingScene::GrowingScene(const Loaded& nvs, ReadOptions options)
    : nvs_(nvs), options_(std::move(options)) {}

void GrowingScene::read(const data::Capture& photos, const std::vector<int64_t>& chosen) {
  if (!frame_) frame_ = frame_of_photos(photos, chosen, options_.frame);
  std::vector<data::Camera> own;  // of the views that this rank reads
  data::ViewLoader loader(photos, options_.size.height, options_.size.width);
  const auto load = [&](int64_t first, int64_t count) -> models::InputViews {
    data::PosedImages loaded = loader.load({chosen.data() + first, size_t(count)});
    const auto normalised = data::to_scene(*frame_, loaded.cameras);
    own.insert(own.end(), normalised.begin(), normalised.end());
    return {std::move(loaded.images), data::intrinsics_of(normalised), data::camera_to_world_of(normalised)};
  };
  models::ReconstructOptions reconstruct;
  reconstruct.piece_tokens = options_.piece_tokens;
  reconstruct.on_piece = options_.on_piece;
  const std::vector<io::ImageSize> sizes(chosen.size(), options_.size);
  if (scene_.state) {
    nvs_.model->read_more(*scene_.state, sizes, load, reconstruct);
  } else {
    scene_.state = nvs_.model->reconstruct(sizes, load, reconstruct);
  }
  scene_.sizes.insert(scene_.sizes.end(), sizes.begin(), sizes.end());
  const auto append = [&](at::Tensor& rows, const at::Tensor& of_own) {
    const at::Tensor more = nvs_.model->world().context.gather_rows(of_own, "gathering cameras");
    rows = rows.defined() ? at::cat({rows, more}) : more;
  };
  append(scene_.intrinsics, data::intrinsics_of(own));
  append(scene_.camera_to_world, data::camera_to_world_of(own));
  scene_.world_to_scene = frame_->world_to_scene;
  scene_.scale = frame_->scale;
}

}  // namespace lact::tasks::nvs
