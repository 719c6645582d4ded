#include "lact/tasks/nvs/open_scene.h"

#include "lact/io/gaussian_ply.h"
#include "lact/tasks/nvs/session.h"

namespace lact::tasks::nvs {

SceneReader scene_reader(const std::string& file, const OpenOptions& options) {
  if (io::has_ply_name(file))
    return [file, gaussians = options.gaussians] {
      return std::make_unique<GaussianScene>(GaussianScene::open(file, gaussians));
    };
  return [file, nvs = load_for_scene(file, options.model, options.load)] {
    return std::make_unique<Session>(Session::open(nvs, file));
  };
}

}  // namespace lact::tasks::nvs
