#include "lact/data/views/protocol.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "lact/base/random.h"
#include "support/photo_folder.h"
#include "support/temporary_folder.h"

namespace lact::data {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(TestProtocol, Dl3dvGuessesEveryEighthPhoto) {
  const testing::TemporaryFolder folder;
  testing::write_photo_folder(folder / "fox", 26, 16, 16);
  testing::write_photo_folder(folder / "bust", 18, 16, 16, 6);
  TestOptions options = protocol_options(TestProtocol::dl3dv);
  options.height = options.width = 16;
  EXPECT_THAT(options.counts, ElementsAre(16, 32, 64, 128));
  const auto cases = photo_cases({folder / "fox", folder / "bust"}, {}, options);
  ASSERT_THAT(cases, SizeIs(2));
  EXPECT_EQ(cases[0].group, "dl3dv");
  EXPECT_EQ(cases[1].group, "dl3dv");
  EXPECT_EQ(cases[1].name, "bust");
  EXPECT_THAT(cases[0].counts, ElementsAre(16));
  EXPECT_EQ(cases[0].targets, 4);
  EXPECT_EQ(cases[1].targets, 3);
  const TestViews scene = cases[0].load();
  EXPECT_THAT(scene.targets, SizeIs(4));
  ASSERT_EQ(scene.inputs.count(16), 1u);
  const std::vector<Camera> all = cameras_of(load_capture(folder / "fox"));
  const auto place_in_capture = [&](int64_t view) {
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i].camera_to_world == scene.views.cameras[size_t(view)].camera_to_world) return int64_t(i);
    return int64_t(-1);
  };
  std::vector<int64_t> targets, inputs, rest;
  for (const int64_t view : scene.targets) targets.push_back(place_in_capture(view));
  for (const int64_t view : scene.inputs.at(16)) inputs.push_back(place_in_capture(view));
  EXPECT_THAT(targets, ElementsAre(0, 8, 16, 24));
  // The inputs are the clusters of the others.
  for (int64_t i = 0; i < 26; ++i)
    if (i % 8 != 0) rest.push_back(i);
  EXPECT_EQ(inputs, choose_views(all, rest, 16, ViewChoice::kmeans, mix(options.seed, 2)));
}

TEST(TestProtocol, GsoReadsAndGuessesViewsByChance) {
  TestOptions options = protocol_options(TestProtocol::gso);
  EXPECT_THAT(options.counts, ElementsAre(4, 8, 12, 20, 32, 48));
  EXPECT_EQ(options.targets, 8);
  options.height = options.width = 16;
  options.counts = {4, 8};
  // Rendered objects.
  const auto rendered = procedural_cases(1, options)[0];
  EXPECT_EQ(rendered.group, "gso");
  EXPECT_THAT(rendered.load().targets, SizeIs(8));
  // Photos of one: any of them may be a target, and none of those is read.
  const testing::TemporaryFolder folder;
  testing::write_photo_folder(folder / "cup", 40, 16, 16);
  const auto cup = photo_cases({folder / "cup"}, {}, options)[0];
  EXPECT_EQ(cup.targets, 8);
  const TestViews scene = cup.load();
  const std::set<int64_t> targets(scene.targets.begin(), scene.targets.end());
  EXPECT_THAT(targets, SizeIs(8));
  for (const auto& [count, views] : scene.inputs) {
    EXPECT_THAT(views, SizeIs(size_t(count)));
    for (const int64_t view : views) EXPECT_EQ(targets.count(view), 0u);
  }
  const auto places = [](const TestOptions& test, const std::string& path) {
    const auto split = photo_cases({path}, {}, test)[0].load();
    std::vector<double> found;
    for (const int64_t view : split.targets)
      found.push_back(split.views.cameras[size_t(view)].camera_to_world[0][3]);
    return found;
  };
  EXPECT_EQ(places(options, folder / "cup"), places(options, folder / "cup"));
  TestOptions other = options;
  other.seed = 7;
  EXPECT_NE(places(options, folder / "cup"), places(other, folder / "cup"));
}

TEST(TestProtocol, AViewIsLeftToReadOfSmallCaptures) {
  const testing::TemporaryFolder folder;
  testing::write_photo_folder(folder / "few", 5, 16, 16);
  TestOptions options = protocol_options(TestProtocol::gso);
  options.height = options.width = 16;
  options.counts = {1, 4};
  const auto few = photo_cases({folder / "few"}, {}, options)[0];
  EXPECT_EQ(few.targets, 4);
  EXPECT_THAT(few.counts, ElementsAre(1));
  EXPECT_THAT(few.left_out, ElementsAre(4));
}

}  // namespace
}  // namespace lact::data
