// The streams of both codecs.
#include <ATen/ATen.h>

#include <algorithm>

#include "lact/base/error.h"
#include "lact/models/common/config_checks.h"
#include "lact/models/vae/codec.h"

namespace lact::models {

namespace {

/// Pixels that are in the network at the same time: more frames at once are faster, until memory is what
/// limits.
constexpr int64_t kPixelsAtOnce = 1 << 17;

void check_piece(const at::Tensor& piece, int64_t channels, const char* what) {
  LACT_CHECK(piece.dim() == 5 && piece.size(1) == channels && piece.numel() > 0,
             "[codec] {} of shape {}, expected [batch, {}, frames, rows, columns]", what, piece.sizes().vec(),
             channels);
}

void check_picture(const at::Tensor& piece, int64_t side) {
  LACT_CHECK(piece.size(3) % side == 0 && piece.size(4) % side == 0,
             "[codec] pictures of {} x {} pixels, expected multiples of {}", piece.size(3), piece.size(4),
             side);
}

/// Latent frames that go through an autoencoder together.
int64_t latents_at_once(int64_t batch, int64_t pixels_per_frame, int64_t temporal) {
  return std::max<int64_t>(1, kPixelsAtOnce / (batch * pixels_per_frame * temporal));
}

class PixelStream : public CodecStream {
 public:
  PixelStream(int64_t patch, bool encodes) : patch_(patch), encodes_(encodes) {}

  at::Tensor push(const at::Tensor& piece) override {
    check_piece(piece, encodes_ ? kPixelChannels : kPixelChannels * patch_ * patch_,
                encodes_ ? "pixels" : "latents");
    if (encodes_) check_picture(piece, patch_);
    const at::Tensor frames = piece.transpose(1, 2);
    const at::Tensor moved =
        encodes_ ? at::pixel_unshuffle(frames, patch_) : at::pixel_shuffle(frames, patch_).clamp(-1, 1);
    return moved.transpose(1, 2).contiguous();
  }
  void prepare(int64_t, int64_t, int64_t) override {}
  void visit(StateVisitor&, const std::string&) override {}
  std::unique_ptr<State> clone() const override { return std::make_unique<PixelStream>(*this); }

 private:
  int64_t patch_;
  bool encodes_;
};

/// Runs a network once on zeros, which gives its caches their shapes, and forgets that.
template <class Function>
void shape_caches(FrameCaches& caches, const Function& run) {
  at::NoGradGuard no_grad;
  caches = FrameCaches();
  run();
  caches.reset();
}

class VaeEncoderStream : public CodecStream {
 public:
  explicit VaeEncoderStream(std::shared_ptr<const Vae> model) : model_(std::move(model)) {}

  at::Tensor push(const at::Tensor& piece) override {
    at::NoGradGuard no_grad;
    const VaeConfig& config = model_->config();
    const int64_t step = config.temporal(), side = config.spatial();
    check_piece(piece, kPixelChannels, "pixels");
    check_picture(piece, side);
    const at::Tensor frames =
        waiting_.defined() ? at::cat({waiting_.to(piece.device()), piece.to(waiting_.scalar_type())}, 2)
                           : piece;
    const int64_t many = latents_at_once(piece.size(0), piece.size(3) * piece.size(4), step);
    std::vector<at::Tensor> ready = {
        at::empty({piece.size(0), config.latent_channels, 0, piece.size(3) / side, piece.size(4) / side},
                  model_->parameters().front().options().device(piece.device()))};
    int64_t done = 0;
    while (done < frames.size(2)) {
      // The clip's first frame is a latent frame by itself.
      const int64_t head = caches_.at_first_frame() ? 1 : 0, left = frames.size(2) - done;
      const int64_t groups = std::min((left - head) / step, many);
      const int64_t count = head + groups * step;
      if (count == 0) break;
      ready.push_back(model_->scaled(model_->encode(frames.narrow(2, done, count), &caches_).mean));
      done += count;
    }
    waiting_ = frames.narrow(2, done, frames.size(2) - done).clone();
    return at::cat(ready, 2);
  }

  void finish() const override {
    const int64_t left = waiting_.defined() ? waiting_.size(2) : 0, step = model_->config().temporal();
    LACT_CHECK(left == 0, "[codec] a clip of {} frames, expected 1 + {} n: 1, {}, {}, ...",
               caches_.frames() + left, step, 1 + step, 1 + 2 * step);
  }

  void prepare(int64_t batch, int64_t rows, int64_t columns) override {
    const at::Tensor blank =
        at::zeros({batch, kPixelChannels, 1, rows, columns}, model_->parameters().front().options());
    shape_caches(caches_, [&] { model_->encode(blank, &caches_); });
    waiting_ = blank.narrow(2, 0, 0).to(at::kCPU).clone();
  }

  void visit(StateVisitor& visitor, const std::string& prefix) override {
    if (!waiting_.defined()) waiting_ = at::empty({0, kPixelChannels, 0, 0, 0});
    visitor.tensor(prefix + "waiting", waiting_, 2);
    caches_.visit(visitor, prefix);
  }
  std::unique_ptr<State> clone() const override { return std::make_unique<VaeEncoderStream>(*this); }

 private:
  std::shared_ptr<const Vae> model_;
  FrameCaches caches_;
  at::Tensor waiting_;  ///< pixels of frames that do not make a latent frame yet
};

class VaeDecoderStream : public CodecStream {
 public:
  explicit VaeDecoderStream(std::shared_ptr<const Vae> model) : model_(std::move(model)) {}

  at::Tensor push(const at::Tensor& piece) override {
    at::NoGradGuard no_grad;
    const VaeConfig& config = model_->config();
    check_piece(piece, config.latent_channels, "latents");
    const int64_t pixels = piece.size(3) * piece.size(4) * config.spatial() * config.spatial();
    std::vector<at::Tensor> ready;
    for (const at::Tensor& part : piece.split(latents_at_once(piece.size(0), pixels, config.temporal()), 2))
      ready.push_back(model_->decode(model_->unscaled(part), &caches_).clamp(-1, 1));
    return at::cat(ready, 2);
  }

  void prepare(int64_t batch, int64_t rows, int64_t columns) override {
    const at::Tensor blank = at::zeros({batch, model_->config().latent_channels, 1, rows, columns},
                                       model_->parameters().front().options());
    shape_caches(caches_, [&] { model_->decode(blank, &caches_); });
  }

  void visit(StateVisitor& visitor, const std::string& prefix) override { caches_.visit(visitor, prefix); }
  std::unique_ptr<State> clone() const override { return std::make_unique<VaeDecoderStream>(*this); }

 private:
  std::shared_ptr<const Vae> model_;
  FrameCaches caches_;
};

}  // namespace

PixelCodec::PixelCodec(int64_t patch) : patch_(patch) { check_size("patch", patch, kLargestPatch); }

std::unique_ptr<CodecStream> PixelCodec::encoder() const {
  return std::make_unique<PixelStream>(patch_, true);
}
std::unique_ptr<CodecStream> PixelCodec::decoder() const {
  return std::make_unique<PixelStream>(patch_, false);
}

std::unique_ptr<CodecStream> VaeCodec::encoder() const { return std::make_unique<VaeEncoderStream>(model_); }
std::unique_ptr<CodecStream> VaeCodec::decoder() const { return std::make_unique<VaeDecoderStream>(model_); }

}  // namespace lact::models
