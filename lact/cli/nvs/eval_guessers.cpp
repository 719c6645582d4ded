// What `lact nvs eval` compares: models and Gaussians.
#include "lact/base/error.h"
#include "lact/cli/nvs/eval.h"
#include "lact/cli/nvs/nvs.h"
#include "lact/data/views/preprocess.h"
#include "lact/io/gaussian_ply.h"
#include "lact/models/nvs/folder.h"

namespace lact::cli {

namespace {

/// A model that is named, or comes with the program.
tasks::nvs::Guesser load_model(const NvsEvalArguments& arguments, const NamedFolder& named,
                               NvsEvaluation& result) {
  const auto loaded = tasks::nvs::load(named.folder, arguments.load);
  if (result.models.empty()) {
    const io::ImageSize size = view_size_for(arguments.size, loaded);
    result.test.height = size.height;
    result.test.width = size.width;
  }
  const auto& config = loaded.model->config();
  data::check_patches(result.test.height, result.test.width, config.decoded_patch());
  const data::FrameChoice frame = frame_for(arguments.frame, loaded);
  int64_t parameters = 0;
  for (const auto& weight : loaded.model->parameters()) parameters += weight.numel();
  result.models.push_back(
      {named.name, loaded.path, config.mixer.text(), std::string(options::word_of(frame)), parameters});
  return tasks::nvs::guesser_of(tasks::nvs::NamedNvs{named.name, loaded.model, frame});
}

/// Gaussians show one scene.
void check_splats(const NvsEvalArguments& arguments) {
  LACT_CHECK(arguments.photos.size() == 1 && arguments.meshes.meshes.empty() && !arguments.scenes,
             "[eval] --splats are Gaussians of one capture: name it, and no other scenes, by --photos");
}

tasks::nvs::Guesser load_splats(const NvsEvalArguments& arguments, const NamedFolder& named,
                                NvsEvaluation& result) {
  const ops::Gaussians gaussians = io::read_gaussians(named.folder);
  if (result.models.empty()) {
    const data::Capture photos = data::load_capture(arguments.photos[0], arguments.reading);
    const data::Camera& first = photos.views.front().camera;
    const io::ImageSize size = arguments.size.empty() ? io::ImageSize{first.height, first.width}
                                                      : parse_view_size(arguments.size, "--size");
    result.test.height = size.height;
    result.test.width = size.width;
    result.test.counts = {1};  // nobody reads views
  }
  int64_t numbers = 0;
  for (const at::Tensor* field : gaussians.fields()) numbers += field->numel();
  result.models.push_back({named.name, named.folder, kGaussians, "given", numbers});
  return tasks::nvs::guesser_of_gaussians(named.name, named.folder);
}

}  // namespace

std::vector<tasks::nvs::Guesser> load_guessers(const NvsEvalArguments& arguments, NvsEvaluation& result) {
  std::vector<std::string> words = arguments.models;
  words.insert(words.end(), arguments.splats.begin(), arguments.splats.end());
  auto named = named_folders(words);
  if (named.empty()) named.push_back({"shipped weights", ""});
  if (!arguments.splats.empty()) check_splats(arguments);
  std::vector<tasks::nvs::Guesser> guessers;
  const size_t models = named.size() - arguments.splats.size();
  for (size_t i = 0; i < named.size(); ++i)
    guessers.push_back(i < models ? load_model(arguments, named[i], result)
                                  : load_splats(arguments, named[i], result));
  return guessers;
}

}  // namespace lact::cli
