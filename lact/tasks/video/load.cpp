#include "lact/tasks/video/load.h"

#include <ATen/ATen.h>

#include <cmath>
#include <filesystem>

#include "lact/base/data_folder.h"
#include "lact/base/error.h"
#include "lact/data/text/tokenizer.h"
#include "lact/models/umt5/folder.h"
#include "lact/models/video/folder.h"
#include "lact/models/video/word_encoder.h"
#include "lact/ops/dispatch/device.h"

namespace lact::tasks::video {

namespace fs = std::filesystem;

std::shared_ptr<models::TextEncoder> load_text_encoder(const std::string& folder, int64_t text_length) {
  LACT_CHECK(fs::is_directory(folder), "{}: the folder of the text encoder is missing", folder);
  if (!fs::exists(fs::path(folder) / "tokenizer.model")) return models::load_word_encoder(folder);
  const std::shared_ptr<const data::Tokenizer> tokenizer = data::read_tokenizer(folder);
  models::TextTokens tokens;
  tokens.tokenize = [tokenizer](const std::string& text) { return tokenizer->encode(text); };
  tokens.end = tokenizer->end_of_text();
  const auto encoder = models::load_umt5(folder);
  encoder->to(ops::compute_device());
  return std::make_shared<models::Umt5TextEncoder>(encoder, tokens, text_length);
}

VideoParts load_video_parts(const std::string& folder) {
  VideoParts parts;
  parts.model = models::load_video(folder);
  const std::string codec = (fs::path(folder) / "codec").string();
  LACT_CHECK(fs::is_directory(codec), "{}: the folder of the codec is missing", codec);
  parts.codec = models::load_codec(codec);
  parts.text = load_text_encoder((fs::path(folder) / "text").string(), parts.model->config().text_length);
  check_video_parts(parts, folder);
  return parts;
}

std::string shipped_weights() { return find_data_folder({"weights/video", "weights/video", "config.json"}); }

Loaded load(const std::string& folder, const LoadOptions& options) {
  Loaded loaded;
  loaded.path = folder.empty() ? shipped_weights() : folder;
  LACT_CHECK(!loaded.path.empty(),
             "no weights come with this build (weights/video was not found); --model names a model folder");
  static_cast<VideoParts&>(loaded) = load_video_parts(loaded.path);
  loaded.model->set_compute_type(ops::compute_type(ops::announced(options.precision)));
  loaded.model->to(ops::compute_device());
  loaded.model->eval();
  loaded.fingerprint = models::fingerprint(*loaded.model);
  return loaded;
}

void check_video_parts(const VideoParts& parts, const std::string& place) {
  const models::VideoConfig& config = parts.model->config();
  LACT_CHECK(parts.codec->latent_channels() == config.in_channels,
             "{}: the codec makes latents of {} channels, but the model reads {}", place,
             parts.codec->latent_channels(), config.in_channels);
  LACT_CHECK(parts.text->text_dim() == config.text_dim && parts.text->text_length() <= config.text_length,
             "{}: the text encoder makes {} tokens of {} channels, but the model reads up to {} of {}", place,
             parts.text->text_length(), parts.text->text_dim(), config.text_length, config.text_dim);
}

std::shared_ptr<models::VideoCodec> codec_by_name(const std::string& name,
                                                  const models::VideoConfig& config) {
  if (name != "pixels") return models::load_codec(name);
  const auto side = int64_t(std::lround(std::sqrt(double(config.in_channels) / models::kPixelChannels)));
  LACT_CHECK(
      models::kPixelChannels * side * side == config.in_channels,
      "[train] the model reads {} channels, which are no patch of pixels (3, 12, 27, 48, ...): name the "
      "autoencoder by --codec",
      config.in_channels);
  return std::make_shared<models::PixelCodec>(side);
}

bool has_new_memory(const models::VideoModel& model) {
  bool found = false;
  for (const auto& item : model.named_parameters()) {
    if (item.key().find(".mixer.memory.scale.") == std::string::npos) continue;
    if (item.value().count_nonzero().item<int64_t>() > 0) return false;
    found = true;
  }
  return found;
}

}  // namespace lact::tasks::video
