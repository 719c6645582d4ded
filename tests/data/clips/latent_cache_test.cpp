#include "lact/data/clips/latent_cache.h"

#include <ATen/ATen.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "lact/data/clips/story_clips.h"
#include "lact/io/safetensors.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::data {
namespace {

using lact::testing::read_file;
using lact::testing::TemporaryFolder;
using lact::testing::write_file;

StoryClips cached_stories() {
  StoryOptions options;
  options.chunks = 4;
  options.chunk_frames = 2;
  return StoryClips(options, 1, ClipPart::train);
}

class LatentCacheTest : public ::testing::Test {
 protected:
  LatentCache cache(const std::string& codec = "halves") {
    return LatentCache(folder_ / "cache", codec, [this](const at::Tensor& frames) {
      ++encoded_;
      return at::avg_pool2d(frames.to(at::kFloat), 2).transpose(0, 1);
    });
  }

  TemporaryFolder folder_;
  const StoryClips source_ = cached_stories();
  std::atomic<int> encoded_ = 0;
};

TEST_F(LatentCacheTest, LatentsAreMadeOnce) {
  const at::Tensor made = cache().latents(source_, 3);
  EXPECT_EQ(made.sizes(), (at::IntArrayRef{3, 8, 16, 16}));
  EXPECT_EQ(encoded_, 1);
  EXPECT_TRUE(cache().latents(source_, 3).equal(made));
  EXPECT_EQ(encoded_, 1);
  EXPECT_FALSE(cache().latents(source_, 4).equal(made));
  EXPECT_EQ(encoded_, 2) << "another clip";
  cache("other").latents(source_, 3);
  EXPECT_EQ(encoded_, 3) << "another codec";
}

TEST_F(LatentCacheTest, DamagedFilesAreMadeAnew) {
  const at::Tensor made = cache().latents(source_, 0);
  const std::string file = cache().file_name(source_.identity(0));
  const std::string good = read_file(file);
  std::string flipped = good;
  flipped[flipped.size() - 7] = static_cast<char>(flipped[flipped.size() - 7] ^ 0x10);
  int expected = 1;
  for (const std::string& bytes :
       {std::string(), good.substr(0, good.size() / 2), flipped, std::string("x")}) {
    write_file(file, bytes);
    EXPECT_TRUE(cache().latents(source_, 0).equal(made));
    EXPECT_EQ(encoded_, ++expected);
    EXPECT_EQ(read_file(file), good);
  }
}

TEST_F(LatentCacheTest, AFileOfAnotherClipIsNotTaken) {
  const at::Tensor made = cache().latents(source_, 0);
  const at::Tensor other = cache().latents(source_, 1);
  std::filesystem::copy_file(cache().file_name(source_.identity(1)), cache().file_name(source_.identity(0)),
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_TRUE(cache().latents(source_, 0).equal(made));
  EXPECT_EQ(encoded_, 3);
}

TEST_F(LatentCacheTest, ThreadsShareIt) {
  const LatentCache shared = cache();
  const at::Tensor expected = shared.latents(source_, 0);
  std::atomic<int> equal = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (uint64_t index : {1, 2, 0})
        if (shared.latents(source_, index).equal(expected)) ++equal;
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(equal, 4);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ / "cache"), {}), 3);
}

TEST_F(LatentCacheTest, MistakesAreSentences) {
  write_file(folder_ / "file", "");
  EXPECT_SENTENCE(LatentCache(folder_ / "file", "x", nullptr), "file: the cache cannot be written to");
  const LatentCache flat(folder_ / "flat", "flat", [](const at::Tensor& frames) { return frames[0]; });
  EXPECT_SENTENCE(flat.latents(source_, 0), "the codec flat gave a tensor of 3 dimensions");
}

}  // namespace
}  // namespace lact::data
