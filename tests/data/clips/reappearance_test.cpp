#include "lact/data/clips/reappearance.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/errors.h"

namespace lact::data {
namespace {

StoryOptions four_chunks() {
  StoryOptions options;
  options.chunks = 4;
  options.chunk_frames = 2;
  options.gap_min = 2;
  options.height = options.width = 16;
  return options;
}

/// Thing 0 is seen in chunks 0 and 3, in its top left corner; thing 1 always, to the right of that.
at::Tensor two_things() {
  at::Tensor visible = at::zeros({2, 8, 16, 16}, at::kByte);
  visible[0].narrow(1, 0, 4).narrow(2, 0, 4).fill_(255);
  visible[0].narrow(0, 2, 4).zero_();
  visible[1].narrow(1, 0, 4).narrow(2, 8, 4).fill_(255);
  return visible;
}

TEST(Reappearance, IsFoundWhereAThingWasAwayForWholeChunks) {
  const auto found = find_reappearances(two_things(), four_chunks());
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].thing, 0);
  EXPECT_EQ(found[0].gone, 2);
  EXPECT_EQ(found[0].back, 6);
  EXPECT_EQ(found[0].gap, 2);

  at::Tensor visible = two_things();
  visible[0][2][0][0] = 1;  // a little is still seen in chunk 1: only chunk 2 is without it
  EXPECT_EQ(find_reappearances(visible, four_chunks())[0].gap, 1);
  visible[0][5][0][0] = 1;  // and comes back in chunk 2
  EXPECT_TRUE(find_reappearances(visible, four_chunks()).empty());

  StoryOptions causal = four_chunks();
  causal.first_chunk_short = 1;  // chunks of 1, 2, 2, 2 frames
  const auto other = find_reappearances(two_things().narrow(1, 0, 7), causal);
  ASSERT_EQ(other.size(), 1U);
  EXPECT_EQ(other[0].gap, 1) << "chunk 1 is frames 1 and 2, chunk 2 frames 3 and 4";
}

TEST(Reappearance, BoxesHoldWhatIsSeen) {
  const at::Tensor visible = two_things();
  EXPECT_EQ(visible_box(visible[1], 0), (VisibleBox{0, 8, 4, 12}));
  EXPECT_EQ(visible_box(visible[0], 3), VisibleBox{});
  EXPECT_SENTENCE(visible_box(visible[0], 8), "frame 8");
}

TEST(Reappearance, ErrorsAreCountedWhereTheyBelong) {
  const auto regions = reappearance_regions(two_things(), four_chunks());
  EXPECT_EQ(regions.returning.sum().item<float>(), 2 * 16);
  EXPECT_EQ(regions.returning.narrow(0, 0, 6).sum().item<float>(), 0);
  EXPECT_EQ(regions.elsewhere.sum().item<float>(), 2 * (256 - 16));
  EXPECT_EQ(regions.known.sum().item<float>(), 6 * 16) << "thing 1 from chunk 1 on";
  const at::Tensor truth = at::zeros({3, 8, 16, 16});
  at::Tensor found = at::full({3, 8, 16, 16}, 1.0);
  found.narrow(1, 6, 2).narrow(2, 0, 4).narrow(3, 0, 4).fill_(3);
  found.narrow(1, 0, 6).add_(100);  // frames without a return do not count
  ReappearanceScore score;
  score.add(regions, truth, found);
  EXPECT_DOUBLE_EQ(score.returning(), 9);
  EXPECT_DOUBLE_EQ(score.elsewhere(), 1);
  EXPECT_DOUBLE_EQ(score.ratio(), 9);
  EXPECT_EQ(score.by_gap(), (std::map<int64_t, double>{{2, 9}}));
  score.add(regions, truth, truth);
  EXPECT_DOUBLE_EQ(score.returning(), 4.5) << "a mean over clips";
  EXPECT_TRUE(std::isnan(ReappearanceScore().returning()));
  EXPECT_SENTENCE(score.add(regions, truth, truth.narrow(1, 0, 4)), "the clips have shapes");
}

TEST(Reappearance, KnownThingsAreMeasuredToo) {
  const auto regions = reappearance_regions(two_things(), four_chunks());
  const at::Tensor truth = at::zeros({3, 8, 16, 16});
  at::Tensor found = truth.clone();
  found.narrow(2, 0, 4).narrow(3, 8, 4).fill_(2);
  ReappearanceScore score;
  score.add(regions, truth, found);
  EXPECT_DOUBLE_EQ(score.known(), 4);
  EXPECT_DOUBLE_EQ(score.returning(), 0);
}

TEST(Reappearance, TheScoreWorksOnLatents) {
  const at::Tensor shares = at::arange(5, at::kFloat).view({5, 1, 1}).expand({5, 4, 4});
  const at::Tensor causal = latent_shares(shares, 2, 2, 2);
  EXPECT_EQ(causal.sizes(), (at::IntArrayRef{2, 2, 2}));
  EXPECT_FLOAT_EQ(causal[0][0][0].item<float>(), 0) << "the first frame is alone";
  EXPECT_FLOAT_EQ(causal[1][0][0].item<float>(), 2.5);
  EXPECT_FLOAT_EQ(latent_shares(shares.narrow(0, 0, 4), 2, 1, 1)[1][0][0].item<float>(), 2.5);
  EXPECT_SENTENCE(latent_shares(shares, 4, 2, 2).sum(), "5 frames cannot become 4 latent frames");
  const auto regions = reappearance_regions(two_things(), four_chunks());
  ReappearanceScore score;
  score.add(regions, at::zeros({16, 8, 4, 4}), at::ones({16, 8, 4, 4}));
  EXPECT_DOUBLE_EQ(score.returning(), 1);
}

TEST(Reappearance, TruthOfAnotherShapeIsASentence) {
  EXPECT_SENTENCE(find_reappearances(at::zeros({1, 7, 16, 16}, at::kByte), four_chunks()),
                  "expected bytes [things, 8, 16, 16]");
}

}  // namespace
}  // namespace lact::data
