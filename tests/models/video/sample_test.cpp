#include "lact/models/video/sample.h"

#include <ATen/ATen.h>

#include "lact/models/video/flow.h"
#include "support/errors.h"
#include "support/gradients.h"
#include "support/tiny_video.h"

namespace lact::models {
namespace {

using lact::testing::difference;
using lact::testing::make_video;
using lact::testing::tiny_video;

class VideoSamplingTest : public ::testing::Test {
 protected:
  VideoSamplingTest() {
    options_.solver.steps = 3;
    options_.guidance = 4;
    at::manual_seed(1);
    text_ = at::randn({1, 5, 6});
    negative_ = at::randn({1, 4, 6});
  }

  VideoSampler sampler(int64_t seed = 5) {
    return {model_, begin_sampling(*model_, options_, seed), text_, negative_};
  }

  std::shared_ptr<VideoModel> model_ = make_video(tiny_video());
  SampleOptions options_;
  at::Tensor text_, negative_;
};

TEST_F(VideoSamplingTest, AChunkIsTheSolutionOfTheGuidedFlow) {
  for (const auto kind : {SolverKind::unipc, SolverKind::euler}) {
    options_.solver.solver = kind;
    VideoSampler made = sampler();
    const at::Tensor first = *made.next_chunk(), second = *made.next_chunk();
    EXPECT_EQ(second.sizes(), at::IntArrayRef({1, 3, 2, 4, 6}));

    // By hand: both branches are told of the first chunk, each with its own text.
    const auto wanted = model_->initial_state(1), unwanted = model_->initial_state(1);
    model_->write(*wanted, first, text_);
    model_->write(*unwanted, first, negative_);
    const auto solver = make_solver(options_.solver);
    at::Tensor sample = chunk_noise({1, 3, 2, 4, 6}, 5, 1);
    while (!solver->done()) {
      const at::Tensor time = at::full({1}, solver->timestep());
      const at::Tensor yes = model_->denoise(*wanted, sample, time, text_),
                       no = model_->denoise(*unwanted, sample, time, negative_);
      sample = solver->step(4 * yes - 3 * no, sample);
    }
    EXPECT_LT(difference(second, sample), 1e-4);
  }
}

TEST(ChunkNoise, EveryChunkAndSeedHasItsOwn) {
  const std::vector<int64_t> sizes = {1, 3, 2, 4, 6};
  const at::Tensor noise = chunk_noise(sizes, 5, 1);
  EXPECT_TRUE(chunk_noise(sizes, 5, 1).equal(noise));
  for (const auto& other : {chunk_noise(sizes, 5, 0), chunk_noise(sizes, 5, 2), chunk_noise(sizes, 6, 1)}) {
    EXPECT_LT((other * noise).mean().abs().item<double>(), 0.4);  // 1 if they were the same
  }
}

TEST_F(VideoSamplingTest, EqualsRecomputingTheWholeSequence) {
  options_.guidance = 1;
  for (const auto mixer : {MixerKind::lact, MixerKind::window, MixerKind::full}) {
    model_ = make_video(tiny_video(mixer));
    VideoSampler made = sampler();
    std::vector<at::Tensor> chunks;
    for (int i = 0; i < 3; ++i) {
      // Teacher forcing over the chunks so far, in which only the last part matters.
      const auto solver = make_solver(options_.solver);
      const auto noise = chunk_noise({1, 3, 2, 4, 6}, 5, i);
      const auto expected = solve_flow(*solver, noise, [&](const at::Tensor& sample, double timestep) {
        std::vector<at::Tensor> all = chunks;
        all.push_back(sample);
        const at::Tensor clean = at::cat(all, 2);
        const at::Tensor sequence = interleave(clean, clean.unsqueeze(1), i + 1);
        at::Tensor times = at::zeros({1, 2 * i + 1});
        times[0][2 * i] = timestep;
        const at::Tensor velocity = model_->forward(sequence, times, text_, 1);
        return velocity.narrow(2, 4 * i, 2).contiguous();
      });
      chunks.push_back(*made.next_chunk());
      EXPECT_LT(difference(chunks.back(), *expected), 2e-4) << int(mixer) << ", chunk " << i;
    }
  }
}

TEST_F(VideoSamplingTest, ContinuesAsIfItHadNotStopped) {
  VideoSampler whole = sampler();
  std::vector<at::Tensor> expected;
  for (int i = 0; i < 4; ++i) expected.push_back(*whole.next_chunk());

  VideoSampler half = sampler();
  half.next_chunk();
  half.next_chunk();
  VideoSampler rest(model_, half.sampling().copy(), text_, negative_);
  EXPECT_TRUE(rest.next_chunk()->equal(expected[2]));
  EXPECT_TRUE(rest.next_chunk()->equal(expected[3]));
  // A copy leaves the original where it was.
  EXPECT_EQ(half.sampling().chunks(), 2);
  EXPECT_TRUE(half.next_chunk()->equal(expected[2]));
}

TEST_F(VideoSamplingTest, BranchesWithAnotherSeedOrText) {
  VideoSampler made = sampler();
  const at::Tensor first = *made.next_chunk();
  VideoSampling other_seed = made.sampling().copy();
  other_seed.seed = 6;
  const at::Tensor second = *VideoSampler(model_, made.sampling().copy(), text_, negative_).next_chunk();
  EXPECT_FALSE(VideoSampler(model_, std::move(other_seed), text_, negative_).next_chunk()->equal(second));
  EXPECT_FALSE(VideoSampler(model_, made.sampling().copy(), negative_, text_).next_chunk()->equal(second));
  EXPECT_FALSE(sampler(6).next_chunk()->equal(first));
  EXPECT_TRUE(sampler().next_chunk()->equal(first));
}

TEST_F(VideoSamplingTest, GivingUpAChunkLeavesTheMemoriesAlone) {
  VideoSampler made = sampler();
  made.next_chunk();
  std::vector<int64_t> seen;
  EXPECT_FALSE(made.next_chunk([&](int64_t steps) {
    seen.push_back(steps);
    return steps < 2;
  }));
  EXPECT_EQ(seen, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(made.sampling().chunks(), 1);
  VideoSampler other = sampler();
  other.next_chunk();
  EXPECT_TRUE(made.next_chunk()->equal(*other.next_chunk()));
}

TEST_F(VideoSamplingTest, WithoutGuidanceThereIsOneMemory) {
  options_.guidance = 1;
  VideoSampler made(model_, begin_sampling(*model_, options_, 5), text_);
  EXPECT_TRUE(made.next_chunk());
  EXPECT_EQ(made.sampling().with_negative, nullptr);
  VideoSampling later = made.sampling().copy();
  later.options.guidance = 2;
  EXPECT_SENTENCE(VideoSampler(model_, std::move(later), text_, negative_),
                  "guidance is 2, but the 1 chunks so far were made without");

  // Guidance may be switched off later; the memory of the negative text goes on.
  options_.guidance = 2;
  VideoSampler guided = sampler();
  guided.next_chunk();
  VideoSampling without = guided.sampling().copy();
  without.options.guidance = 1;
  VideoSampler rest(model_, std::move(without), text_, negative_);
  rest.next_chunk();
  EXPECT_EQ(rest.sampling().with_negative->chunks, 2);
}

TEST_F(VideoSamplingTest, MistakesAreSentences) {
  options_.guidance = -1;
  EXPECT_SENTENCE(begin_sampling(*model_, options_, 1), "guidance is -1");
  options_.guidance = 2;
  EXPECT_SENTENCE(VideoSampler(model_, begin_sampling(*model_, options_, 1), text_), "no text to go with it");
  options_.solver.steps = 2000;
  EXPECT_SENTENCE(begin_sampling(*model_, options_, 1), "steps is 2000");
  VideoConfig config = tiny_video();
  config.out_channels = 4;
  options_.solver.steps = 2;
  const auto uneven = make_video(config);
  EXPECT_SENTENCE(VideoSampler(uneven, begin_sampling(*uneven, options_, 1), text_, negative_),
                  "reads 3 channels and answers with 4");
  EXPECT_THROW(VideoSampler(model_, begin_sampling(*model_, options_, 1), text_ * std::nan(""), negative_)
                   .next_chunk(),
               NonFinite);
}

}  // namespace
}  // namespace lact::models
