#include "lact/models/vae/codec.h"

#include <filesystem>

#include "lact/base/error.h"
#include "lact/base/fnv.h"
#include "lact/models/common/config_checks.h"
#include "lact/models/common/config_file.h"
#include "lact/models/vae/folder.h"
#include "lact/ops/dispatch/device.h"

namespace lact::models {

namespace {

const char* const kPixelType = "pixel_codec";

struct PixelCodecConfig {
  int64_t patch = 1;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("patch", patch, "side of the square that becomes one place of the latent");
  }
  void check() const { check_size("patch", patch, kLargestPatch); }
};

}  // namespace

at::Tensor VideoCodec::encode(const at::Tensor& pixels) const {
  const auto stream = encoder();
  at::Tensor latents = stream->push(pixels);
  stream->finish();
  return latents;
}

at::Tensor VideoCodec::decode(const at::Tensor& latents) const { return decoder()->push(latents); }

int64_t VideoCodec::latent_frames(int64_t frames) const {
  LACT_CHECK(frames >= 1 && (frames - 1) % temporal() == 0,
             "[codec] a clip of {} frames, expected 1 + {} n: 1, {}, {}, ...", frames, temporal(),
             1 + temporal(), 1 + 2 * temporal());
  return 1 + (frames - 1) / temporal();
}

void CodecConfig::check() const {
  if (kind == CodecKind::pixels) check_size("patch", patch, kLargestPatch);
  if (kind == CodecKind::vae) vae.check();
}

std::string VaeCodec::fingerprint() const { return models::fingerprint(*model_); }

std::string PixelCodec::fingerprint() const { return fnv_hex(fmt::format("{} {}", kPixelType, patch_)); }

std::shared_ptr<VideoCodec> make_codec(const CodecConfig& config) {
  config.check();
  if (config.kind == CodecKind::pixels) return std::make_shared<PixelCodec>(config.patch);
  return std::make_shared<VaeCodec>(std::make_shared<Vae>(config.vae));
}

std::shared_ptr<VideoCodec> load_codec(const std::string& folder_or_file) {
  const bool is_folder = std::filesystem::is_directory(folder_or_file);
  if (is_folder && read_config_file(folder_or_file).type() == kPixelType) {
    const auto config = read_config_of<PixelCodecConfig>(folder_or_file, kPixelType, "codec");
    return std::make_shared<PixelCodec>(config.patch);
  }
  const auto model = load_vae(folder_or_file);
  model->to(ops::compute_device());
  return std::make_shared<VaeCodec>(model);
}

void save_codec(const std::string& folder, const VideoCodec& codec) {
  if (const auto* vae = dynamic_cast<const VaeCodec*>(&codec)) return save_vae(folder, vae->model());
  PixelCodecConfig config;
  config.patch = codec.spatial();
  write_config_file(folder, kPixelType, options::write(config));
}

}  // namespace lact::models
