#include "lact/tasks/video/load.h"

#include <filesystem>

#include "support/errors.h"
#include "support/temporary_folder.h"
#include "support/tiny_video_folder.h"

namespace lact::tasks::video {
namespace {

using lact::testing::save_tiny_video;
using lact::testing::TemporaryFolder;

TEST(LoadVideo, AFolderIsAModelACodecAndATextEncoder) {
  const TemporaryFolder folder;
  save_tiny_video(folder / "model");
  const Loaded video = load(folder / "model");
  EXPECT_EQ(video.path, folder / "model");
  EXPECT_EQ(video.fingerprint, models::fingerprint(*video.model));
  EXPECT_FALSE(video.model->is_training());
  EXPECT_EQ(video.codec->latent_channels(), video.model->config().in_channels);
  EXPECT_EQ(video.text->text_dim(), video.model->config().text_dim);
}

TEST(LoadVideo, PartsThatAreMissingOrDoNotFitAreSentences) {
  const TemporaryFolder folder;
  save_tiny_video(folder / "model");
  models::save_codec(folder / "model/codec", models::PixelCodec(2));
  EXPECT_SENTENCE(load(folder / "model"), "the codec makes latents of 12 channels, but the model reads 3");
  std::filesystem::remove_all(folder / "model/codec");
  EXPECT_SENTENCE(load(folder / "model"), "model/codec: the folder of the codec is missing");
}

}  // namespace
}  // namespace lact::tasks::video
