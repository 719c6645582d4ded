#include "lact/data/clips/clip_stream.h"

#include <ATen/ATen.h>

#include <atomic>

#include "lact/data/clips/story_clips.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::data {
namespace {

std::shared_ptr<const StoryClips> streamed_stories() {
  StoryOptions options;
  options.chunks = 4;
  options.chunk_frames = 2;
  return std::make_shared<StoryClips>(options, 1, ClipPart::train);
}

TEST(ClipStream, NumbersMeanTheSameBatchesForAnyNumberOfThreads) {
  const auto source = streamed_stories();
  for (const int threads : {1, 3}) {
    ClipStream stream(frame_samples(source), 2, {threads, 3});
    for (const int64_t number : {0, 1, 2, 7, 1}) {
      const ClipBatch batch = stream.take(number);
      EXPECT_EQ(batch.number, number);
      EXPECT_EQ(batch.values.sizes(), (at::IntArrayRef{2, 8, 3, 32, 32}));
      ASSERT_EQ(batch.captions.size(), 2U);
      for (uint64_t i = 0; i < 2; ++i) {
        const uint64_t index = batch.first_index + i;
        EXPECT_EQ(index, uint64_t(2 * number) + i);
        EXPECT_TRUE(batch.values[int64_t(i)].equal(source->clip(index).frames));
        EXPECT_EQ(batch.captions[i], source->caption(index));
      }
    }
  }
}

TEST(ClipStream, LatentsComeFromTheCache) {
  const testing::TemporaryFolder folder;
  const auto source = streamed_stories();
  std::atomic<int> encoded = 0;
  const auto cache = std::make_shared<LatentCache>(folder / "cache", "mean", [&](const at::Tensor& frames) {
    ++encoded;
    return frames.to(at::kFloat).mean(1, true).transpose(0, 1);
  });
  const ClipBatch made = make_clip_batch(latent_samples(source, cache), 3, 1);
  EXPECT_EQ(made.values.sizes(), (at::IntArrayRef{3, 1, 8, 32, 32}));
  EXPECT_EQ(made.captions[2], source->caption(5));
  EXPECT_EQ(encoded, 3);
  ClipStream stream(latent_samples(source, cache), 3, {1, 1});
  EXPECT_TRUE(stream.take(1).values.equal(made.values));
}

TEST(ClipStream, MistakesReachTheConsumer) {
  const SampleMaker failing = [](uint64_t index) -> ClipSample {
    LACT_CHECK(index != 3, "clip.mp4: broken");
    return {at::zeros({index < 4 ? 1 : 1 + int64_t(index % 2), 3, 2, 2}, at::kByte), ""};
  };
  ClipStream stream(failing, 2);
  EXPECT_EQ(stream.take(0).number, 0);
  EXPECT_SENTENCE(stream.take(1), "clip.mp4: broken");
  EXPECT_SENTENCE(stream.take(2), "clip 1 of batch 2 has shape [2, 3, 2, 2], but the first one [1, 3, 2, 2]");
  EXPECT_SENTENCE(ClipStream(failing, 0), "a batch of 0 clips");
  EXPECT_SENTENCE(ClipStream(failing, 1, {0, 1}), "0 clip-reading threads");
}

}  // namespace
}  // namespace lact::data
