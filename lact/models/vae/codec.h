// Pixels <-> what the video model works on. A codec reads and writes whole clips or, in constant memory, one
// piece after the other. No gradients: for training an autoencoder, see loss.h.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "lact/mixers/state.h"
#include "lact/models/vae/model.h"

namespace lact::models {

/// One clip on its way through a codec. What it remembers can be saved like any other state: after `prepare`
/// a new stream has the shapes of a saved one.
class CodecStream : public State {
 public:
  /// The next frames [B, channels, frames, rows, columns] -> what became ready, perhaps no frame.
  virtual at::Tensor push(const at::Tensor& piece) = 0;

  /// Throws one sentence if frames are left that are too few to be encoded.
  virtual void finish() const {}

  /// For clips of this batch size, and rows and columns of what is pushed.
  virtual void prepare(int64_t batch, int64_t rows, int64_t columns) = 0;

  void visit(StateVisitor& visitor, const std::string& prefix) override = 0;
};

class VideoCodec {
 public:
  virtual ~VideoCodec() = default;

  virtual int64_t latent_channels() const = 0;
  /// Pixels per latent row or column; frames per latent frame after the first.
  virtual int64_t spatial() const = 0;
  virtual int64_t temporal() const = 0;

  /// Pixels [B, 3, frames, H, W] in [-1, 1] -> latents [B, latent_channels, latent frames, rows, columns].
  virtual at::Tensor encode(const at::Tensor& pixels) const;
  /// The way back, clamped to [-1, 1].
  virtual at::Tensor decode(const at::Tensor& latents) const;

  virtual std::unique_ptr<CodecStream> encoder() const = 0;
  virtual std::unique_ptr<CodecStream> decoder() const = 0;

  /// Frames of a clip <-> of its latents; throws one sentence for a clip that is not 1 + temporal · n long.
  int64_t latent_frames(int64_t frames) const;
  int64_t pixel_frames(int64_t latent_frames) const { return 1 + (latent_frames - 1) * temporal(); }

  /// 16 hexadecimal digits that differ when latents would: the name of a cache of them.
  virtual std::string fingerprint() const = 0;
};

/// Pixel space: every square of `patch` x `patch` pixels becomes the channels of one place.
class PixelCodec : public VideoCodec {
 public:
  explicit PixelCodec(int64_t patch);

  int64_t latent_channels() const override { return kPixelChannels * patch_ * patch_; }
  int64_t spatial() const override { return patch_; }
  int64_t temporal() const override { return 1; }
  std::unique_ptr<CodecStream> encoder() const override;
  std::unique_ptr<CodecStream> decoder() const override;
  std::string fingerprint() const override;

 private:
  int64_t patch_;
};

/// The mean of the latents that an autoencoder gives, with mean 0 and deviation 1 in each channel.
class VaeCodec : public VideoCodec {
 public:
  explicit VaeCodec(std::shared_ptr<const Vae> model) : model_(std::move(model)) {}
  const Vae& model() const { return *model_; }

  int64_t latent_channels() const override { return model_->config().latent_channels; }
  int64_t spatial() const override { return model_->config().spatial(); }
  int64_t temporal() const override { return model_->config().temporal(); }
  std::unique_ptr<CodecStream> encoder() const override;
  std::unique_ptr<CodecStream> decoder() const override;
  std::string fingerprint() const override;

 private:
  std::shared_ptr<const Vae> model_;
};

enum class CodecKind { pixels, vae };
constexpr std::array<std::pair<CodecKind, std::string_view>, 2> enum_names(CodecKind) {
  return {{{CodecKind::pixels, "pixels"}, {CodecKind::vae, "vae"}}};
}

struct CodecConfig {
  CodecKind kind = CodecKind::pixels;
  int64_t patch = 4;
  VaeConfig vae = vae_small();

  template <class Visitor>
  void visit(Visitor&& field) {
    field("kind", kind, "pixels, or vae, an autoencoder");
    field("patch", patch, "with pixels: side of the square that becomes one place of the latent");
    field("vae", vae, "with vae: sizes of the autoencoder");
  }
  bool operator==(const CodecConfig&) const = default;
  void check() const;
};

/// A new codec; an autoencoder is untrained.
std::shared_ptr<VideoCodec> make_codec(const CodecConfig& config);

/// A folder that save_codec or save_vae wrote, or a published autoencoder's .pth or .safetensors file.
std::shared_ptr<VideoCodec> load_codec(const std::string& folder_or_file);
void save_codec(const std::string& folder, const VideoCodec& codec);

}  // namespace lact::models
