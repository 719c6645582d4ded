#include <CLI/CLI.hpp>

#include "lact/base/data_folder.h"
#include "lact/base/error.h"
#include "lact/base/options.h"
#include "lact/cli/video/video.h"
#include "lact/models/video/folder.h"
#include "lact/train/precision.h"

namespace lact::cli {

void add_video_options(CLI::App& verb, VideoArguments& arguments) {
  verb.add_option("-m,--model", arguments.model, "Model folder; by default the weights that come with lact");
  verb.add_option("--precision", arguments.precision, "f32 or bf16")->capture_default_str();
}

std::string shipped_video() { return find_data_folder({"weights/video", "weights/video", "config.json"}); }

LoadedVideo load_video_model(const VideoArguments& arguments) {
  train::Precision type{};
  options::read(options::Json(arguments.precision), type, "precision");
  LoadedVideo video;
  video.path = arguments.model.empty() ? shipped_video() : arguments.model;
  LACT_CHECK(!video.path.empty(),
             "no weights come with this build (weights/video was not found); --model names a model folder");
  static_cast<train::VideoParts&>(video) = train::load_video_parts(video.path);
  video.model->set_compute_type(train::compute_type(type));
  video.model->eval();
  video.fingerprint = models::fingerprint(*video.model);
  return video;
}

}  // namespace lact::cli
