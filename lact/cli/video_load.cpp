#include <CLI/CLI.hpp>

#include <filesystem>

#include "lact/base/data_folder.h"
#include "lact/base/error.h"
#include "lact/base/options.h"
#include "lact/cli/video.h"
#include "lact/models/video/folder.h"
#include "lact/train/tasks/lm_run.h"

namespace lact::cli {

namespace {

/// What the parts of a folder must agree on.
void check_video_parts(const LoadedVideo& video) {
  const models::VideoConfig& config = video.model->config();
  LACT_CHECK(video.codec->latent_channels() == config.in_channels,
             "{}: the codec makes latents of {} channels, but the model reads {}", video.path,
             video.codec->latent_channels(), config.in_channels);
  LACT_CHECK(video.text->text_dim() == config.text_dim,
             "{}: the text encoder makes {} numbers per token, but the model reads {}", video.path,
             video.text->text_dim(), config.text_dim);
}

}  // namespace

void add_video_options(CLI::App& verb, VideoWords& words) {
  verb.add_option("-m,--model", words.model, "Model folder; by default the weights that come with lact");
  verb.add_option("--precision", words.precision, "f32 or bf16")->capture_default_str();
}

std::string shipped_video() { return find_data_folder({"weights/video", "weights/video", "config.json"}); }

LoadedVideo load_video_model(const VideoWords& words) {
  train::Precision type{};
  options::read(options::Json(words.precision), type, "precision");
  LoadedVideo video;
  video.path = words.model.empty() ? shipped_video() : words.model;
  LACT_CHECK(!video.path.empty(),
             "no weights come with this build (weights/video was not found); --model names a model folder");
  video.model = models::load_video(video.path);
  video.model->set_compute_type(train::compute_type(type));
  video.model->eval();
  video.fingerprint = models::fingerprint(*video.model);
  video.codec = models::load_codec((std::filesystem::path(video.path) / "codec").string());
  video.text = models::load_text_encoder((std::filesystem::path(video.path) / "text").string());
  check_video_parts(video);
  return video;
}

}  // namespace lact::cli
