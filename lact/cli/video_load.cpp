#include <CLI/CLI.hpp>

#include <filesystem>

#include "lact/base/data_folder.h"
#include "lact/base/error.h"
#include "lact/base/options.h"
#include "lact/cli/video.h"
#include "lact/data/text/tokenizer.h"
#include "lact/models/umt5/folder.h"
#include "lact/models/video/folder.h"
#include "lact/models/video/word_encoder.h"
#include "lact/train/tasks/lm_run.h"

namespace lact::cli {

namespace {

namespace fs = std::filesystem;

/// umT5 comes with its vocabulary, the built-in encoder needs none.
std::shared_ptr<models::TextEncoder> load_video_text(const std::string& folder, int64_t text_length) {
  LACT_CHECK(fs::is_directory(folder), "{}: the folder of the text encoder is missing", folder);
  if (!fs::exists(fs::path(folder) / "tokenizer.model")) return models::load_word_encoder(folder);
  const std::shared_ptr<const data::Tokenizer> tokenizer = data::read_tokenizer(folder);
  models::TextTokens tokens;
  tokens.tokenize = [tokenizer](const std::string& text) { return tokenizer->encode(text); };
  tokens.end = tokenizer->end_of_text();
  return std::make_shared<models::Umt5TextEncoder>(models::load_umt5(folder), tokens, text_length);
}

/// What the parts of a folder must agree on.
void check_video_parts(const LoadedVideo& video) {
  const models::VideoConfig& config = video.model->config();
  LACT_CHECK(video.codec->latent_channels() == config.in_channels,
             "{}: the codec makes latents of {} channels, but the model reads {}", video.path,
             video.codec->latent_channels(), config.in_channels);
  LACT_CHECK(video.text->text_dim() == config.text_dim && video.text->text_length() <= config.text_length,
             "{}: the text encoder makes {} tokens of {} channels, but the model reads up to {} of {}",
             video.path, video.text->text_length(), video.text->text_dim(), config.text_length,
             config.text_dim);
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
  const std::string codec = (fs::path(video.path) / "codec").string();
  LACT_CHECK(fs::is_directory(codec), "{}: the folder of the codec is missing", codec);
  video.codec = models::load_codec(codec);
  video.text = load_video_text((fs::path(video.path) / "text").string(), video.model->config().text_length);
  check_video_parts(video);
  return video;
}

}  // namespace lact::cli
