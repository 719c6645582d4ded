#include "lact/models/vae/codec.h"

#include "lact/models/common/state_file.h"
#include "lact/models/vae/folder.h"
#include "support/errors.h"
#include "support/gradients.h"
#include "support/temporary_folder.h"
#include "support/tiny_vae.h"

namespace lact::models {
namespace {

using lact::testing::difference;
using lact::testing::make_precise_vae;
using lact::testing::TemporaryFolder;
using lact::testing::tiny_clip;

/// All that comes out when a clip goes in piece by piece, the lengths taken in turn.
at::Tensor stream_all(CodecStream& stream, const at::Tensor& clip, const std::vector<int64_t>& lengths) {
  std::vector<at::Tensor> ready;
  int64_t begin = 0;
  for (size_t i = 0; begin < clip.size(2); ++i) {
    const int64_t count = std::min(lengths[i % lengths.size()], clip.size(2) - begin);
    ready.push_back(stream.push(clip.narrow(2, begin, count)));
    begin += count;
  }
  stream.finish();
  return at::cat(ready, 2);
}

TEST(PixelCodec, MovesPixelsIntoChannels) {
  const PixelCodec codec(2);
  EXPECT_EQ(codec.latent_channels(), 12);
  const at::Tensor clip = tiny_clip(2, 3, 4, 6);
  const at::Tensor latents = codec.encode(clip);
  ASSERT_EQ(latents.sizes(), (std::vector<int64_t>{2, 12, 3, 2, 3}));
  // Channel 4 c + 2 row + column of a place is that pixel of colour c.
  EXPECT_EQ(latents[1][4 * 2 + 2 * 1 + 0][2][1][2].item<double>(), clip[1][2][2][3][4].item<double>());
  EXPECT_TRUE(codec.decode(latents).equal(clip));
  EXPECT_EQ(codec.decode(latents * 100).abs().max().item<double>(), 1);
  EXPECT_TRUE(stream_all(*codec.encoder(), clip, {2}).equal(latents));
  EXPECT_SENTENCE(codec.encode(tiny_clip(1, 1, 5, 4)), "5 x 4 pixels, expected multiples of 2");
  EXPECT_SENTENCE(codec.decode(clip), "expected [batch, 12, frames");
  EXPECT_SENTENCE(PixelCodec(0), "patch is 0");
}

TEST(VaeCodec, PiecesOfAnyLengthGiveTheWholeClip) {
  const auto model = make_precise_vae();
  const VaeCodec codec(model);
  const at::Tensor clip = tiny_clip(1, 21, 8, 8);
  at::NoGradGuard no_grad;
  const at::Tensor latents = model->scaled(model->encode(clip).mean);
  const at::Tensor pixels = model->decode(model->unscaled(latents)).clamp(-1, 1);
  EXPECT_LT(difference(codec.encode(clip), latents), 1e-12);
  EXPECT_LT(difference(codec.decode(latents), pixels), 1e-12);
  for (const auto& lengths : {std::vector<int64_t>{1}, {2}, {3, 7}, {4}, {5, 1, 1}, {21}}) {
    EXPECT_LT(difference(stream_all(*codec.encoder(), clip, lengths), latents), 1e-12);
    EXPECT_LT(difference(stream_all(*codec.decoder(), latents, lengths), pixels), 1e-12);
  }
}

TEST(VaeCodec, FramesBecomeReadyAsSoonAsTheyCan) {
  const VaeCodec codec(make_precise_vae());
  const auto stream = codec.encoder();
  const at::Tensor frame = tiny_clip(1, 1, 8, 8);
  std::vector<int64_t> ready;
  for (int i = 0; i < 9; ++i) ready.push_back(stream->push(frame).size(2));
  EXPECT_EQ(ready, (std::vector<int64_t>{1, 0, 0, 0, 1, 0, 0, 0, 1}));
  stream->finish();
  stream->push(frame);
  EXPECT_SENTENCE(stream->finish(), "a clip of 10 frames, expected 1 + 4 n: 1, 5, 9, ...");
}

/// What a stream keeps does not depend on how much went through it.
TEST(VaeCodec, StreamsKeepAConstantAmount) {
  const VaeCodec codec(make_precise_vae());
  const auto kept = [](CodecStream& stream) {
    int64_t numbers = 0;
    for (const auto& [name, tensor] : tensors_of(stream)) numbers += int64_t(tensor.storage().nbytes());
    return numbers;
  };
  const auto encoder = codec.encoder(), decoder = codec.decoder();
  at::Tensor latents = encoder->push(tiny_clip(1, 1, 8, 8));
  decoder->push(latents);
  const int64_t encoder_bytes = kept(*encoder), decoder_bytes = kept(*decoder);
  for (int i = 0; i < 5; ++i) decoder->push(encoder->push(tiny_clip(1, 8, 8, 8)));
  EXPECT_EQ(kept(*encoder), encoder_bytes);
  EXPECT_EQ(kept(*decoder), decoder_bytes);
}

TEST(VaeCodec, AStreamContinuesFromItsSavedState) {
  const VaeCodec codec(make_precise_vae());
  const at::Tensor clip = tiny_clip(1, 13, 8, 8), latents = codec.encode(clip);
  const auto encoder = codec.encoder(), decoder = codec.decoder();
  encoder->push(clip.narrow(2, 0, 7));  // two frames wait
  decoder->push(latents.narrow(2, 0, 2));
  const auto again_encoder = codec.encoder(), again_decoder = codec.decoder();
  again_encoder->prepare(1, 8, 8);
  again_decoder->prepare(1, 2, 2);
  StateReader("encoder", tensors_of(*encoder)).fill(*again_encoder);
  StateReader("decoder", tensors_of(*decoder)).fill(*again_decoder);
  const at::Tensor rest = clip.narrow(2, 7, 6), later = latents.narrow(2, 2, 2);
  EXPECT_TRUE(again_encoder->push(rest).equal(encoder->push(rest)));
  EXPECT_TRUE(again_decoder->push(later).equal(decoder->push(later)));
}

TEST(VaeCodec, APreparedStreamStartsAtTheFirstFrame) {
  const VaeCodec codec(make_precise_vae());
  const at::Tensor clip = tiny_clip(2, 5, 8, 8), latents = codec.encode(clip);
  const auto encoder = codec.encoder(), decoder = codec.decoder();
  encoder->prepare(2, 8, 8);
  decoder->prepare(2, 2, 2);
  EXPECT_TRUE(encoder->push(clip).equal(latents));
  EXPECT_TRUE(decoder->push(latents).equal(codec.decode(latents)));
}

TEST(VaeCodec, Float32FastPathsAgreeWithFloat64) {
  at::NoGradGuard no_grad;
  const auto precise = make_precise_vae();
  const auto model = make_precise_vae();
  model->to(at::kFloat);
  const at::Tensor clip = tiny_clip(1, 5, 16, 16);
  const at::Tensor latents = VaeCodec(precise).encode(clip);
  EXPECT_LT(difference(VaeCodec(model).encode(clip.to(at::kFloat)), latents), 1e-5);
  EXPECT_LT(difference(VaeCodec(model).decode(latents.to(at::kFloat)), VaeCodec(precise).decode(latents)),
            1e-4);
}

TEST(Codec, FramesOfClipsAndLatents) {
  const VaeCodec codec(make_precise_vae());
  EXPECT_EQ(codec.latent_frames(1), 1);
  EXPECT_EQ(codec.latent_frames(81), 21);
  EXPECT_EQ(codec.pixel_frames(21), 81);
  EXPECT_SENTENCE(codec.latent_frames(80), "a clip of 80 frames, expected 1 + 4 n");
  EXPECT_EQ(PixelCodec(4).latent_frames(80), 80);
}

TEST(Codec, FoldersComeBackTheSame) {
  const TemporaryFolder folder;
  save_codec(folder / "pixels", PixelCodec(4));
  const auto pixels = load_codec(folder / "pixels");
  EXPECT_EQ(pixels->spatial(), 4);
  EXPECT_EQ(pixels->fingerprint(), PixelCodec(4).fingerprint());
  EXPECT_NE(pixels->fingerprint(), PixelCodec(2).fingerprint());

  CodecConfig config;
  config.kind = CodecKind::vae;
  config.vae = lact::testing::tiny_vae();
  const auto codec = make_codec(config);
  save_codec(folder / "vae", *codec);
  const auto again = load_codec(folder / "vae");
  EXPECT_EQ(again->fingerprint(), codec->fingerprint());
  const at::Tensor clip = tiny_clip(1, 5, 8, 8);
  EXPECT_TRUE(again->encode(clip).equal(codec->encode(clip)));
}

TEST(Codec, MistakesAreSentences) {
  const VaeCodec codec(make_precise_vae());
  EXPECT_SENTENCE(codec.encode(tiny_clip(1, 6, 8, 8)), "a clip of 6 frames, expected 1 + 4 n");
  EXPECT_SENTENCE(codec.encode(tiny_clip(1, 5, 9, 8)), "9 x 8 pixels, expected multiples of 4");
  EXPECT_SENTENCE(codec.encode(at::zeros({1, 1, 5, 8, 8})), "expected [batch, 3, frames");
  EXPECT_SENTENCE(codec.decode(at::zeros({1, 4, 5, 8, 8})), "expected [batch, 3, frames");
  EXPECT_SENTENCE(load_codec("/nowhere"), "/nowhere: is not a model folder");
  CodecConfig config;
  config.patch = 0;
  EXPECT_SENTENCE(make_codec(config), "patch is 0");
}

}  // namespace
}  // namespace lact::models
