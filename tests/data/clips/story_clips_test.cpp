#include "lact/data/clips/story_clips.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "support/errors.h"

namespace lact::data {
namespace {

using stories::Story;

StoryOptions wide_story_options() {
  StoryOptions options;
  options.chunks = 7;
  options.chunk_frames = 3;
  options.height = 32;
  options.width = 40;
  return options;
}

TEST(StoryClips, AnIndexAlwaysMeansTheSameClip) {
  const StoryOptions options = wide_story_options();
  const StoryClips train(options, 5, ClipPart::train), again(options, 5, ClipPart::train);
  const StoryClips valid(options, 5, ClipPart::valid), other(options, 6, ClipPart::train);
  for (const uint64_t index : {uint64_t{0}, uint64_t{7}, uint64_t{1} << 40}) {
    const Clip clip = train.clip(index);
    EXPECT_EQ(clip.frames.sizes(), (at::IntArrayRef{21, 3, 32, 40}));
    EXPECT_EQ(clip.frames.scalar_type(), at::kByte);
    EXPECT_TRUE(clip.frames.equal(again.clip(index).frames));
    EXPECT_EQ(clip.caption, again.caption(index));
    EXPECT_EQ(train.identity(index), again.identity(index));
    EXPECT_TRUE(clip.frames.equal(train.clip_with_truth(index).clip.frames));
    for (const StoryClips* source : {&valid, &other}) {
      EXPECT_FALSE(clip.frames.equal(source->clip(index).frames));
      EXPECT_NE(train.identity(index), source->identity(index));
    }
    EXPECT_FALSE(clip.frames.equal(train.clip(index + 1).frames));
    EXPECT_NE(train.identity(index), train.identity(index + 1));
  }
  StoryOptions longer = options;
  longer.chunks = 20;
  EXPECT_NE(StoryClips(longer, 5, ClipPart::train).identity(0), train.identity(0));
  EXPECT_EQ(StoryClips(longer, 5, ClipPart::train).clip(0).frames.size(0), 60);
}

// Bytes that must not change unnoticed: models were trained on them. A change of looks or plans takes another
// kStoryVersion and another number here.
TEST(StoryClips, PixelsOfASeedStayWhatTheyAre) {
  const StoryClips clips(wide_story_options(), 1, ClipPart::train);
  double sum = 0;
  for (uint64_t index = 0; index < 4; ++index)
    sum += clips.clip(index).frames.to(at::kDouble).mean().item<double>();
  EXPECT_NEAR(sum / 4, 127.979, 0.01);
}

TEST(StoryClips, InEveryClipSomethingComesBackAfterTheGap) {
  for (const auto& [chunk_frames, first_short] : {std::pair{4, 0}, {3, 0}, {1, 0}, {8, 3}}) {
    StoryOptions options = wide_story_options();
    options.chunks = 9;
    options.chunk_frames = chunk_frames;
    options.first_chunk_short = first_short;
    options.gap_min = 2;
    options.gap_max = 5;
    const StoryClips clips(options, 3, ClipPart::train);
    std::map<int64_t, int> gaps;
    for (uint64_t index = 0; index < 60; ++index) {
      const auto found = find_reappearances(clips.clip_with_truth(index).visible, options);
      int64_t longest = 0;
      for (const Reappearance& event : found) {
        longest = std::max(longest, event.gap);
        EXPECT_LE(event.gap, options.gap_max) << index;
        ++gaps[event.gap];
      }
      EXPECT_GE(longest, options.gap_min) << index << " " << clips.caption(index);
    }
    for (int64_t gap = options.gap_min; gap <= options.gap_max; ++gap) EXPECT_GT(gaps[gap], 0) << gap;
  }
}

TEST(StoryClips, WhatComesBackComesWithTheFirstFrameOfAChunk) {
  const StoryOptions options = wide_story_options();
  const StoryClips clips(options, 3, ClipPart::train);
  int at_begin = 0, all = 0;
  for (uint64_t index = 0; index < 100; ++index) {
    for (const Reappearance& event : find_reappearances(clips.clip_with_truth(index).visible, options)) {
      ++all;
      at_begin += event.back == options.chunk_begin(options.chunk_of(event.back)) ? 1 : 0;
    }
  }
  EXPECT_GT(at_begin, 0.8 * all) << "a slow thing, or one half behind something, may need a frame more";
}

/// Pixels of a thing where it is wholly seen in two frames, at the same places of the thing.
int64_t expect_same_look(const Story& story, const stories::Painting& painting, int64_t thing, int64_t one,
                         int64_t other) {
  const auto place = [&](int64_t frame) {
    const auto at = story.things[size_t(thing)].track.at(frame), camera = story.camera.at(frame);
    return stories::Point{at.x - camera.x, at.y - camera.y};
  };
  const auto first = place(one), second = place(other);
  const float right = second.x - first.x, down = second.y - first.y;
  if (right != std::round(right) || down != std::round(down)) return 0;
  int64_t compared = 0;
  const auto shown = painting.visible.accessor<uint8_t, 4>();
  const auto pixels = painting.frames.accessor<uint8_t, 4>();
  for (int64_t row = 0; row < shown.size(2); ++row) {
    for (int64_t column = 0; column < shown.size(3); ++column) {
      const int64_t other_row = row + int64_t(down), other_column = column + int64_t(right);
      if (other_row < 0 || other_row >= shown.size(2) || other_column < 0 || other_column >= shown.size(3))
        continue;
      if (shown[thing][one][row][column] < 255 || shown[thing][other][other_row][other_column] < 255)
        continue;
      ++compared;
      for (int64_t channel = 0; channel < 3; ++channel)
        EXPECT_EQ(pixels[one][channel][row][column], pixels[other][channel][other_row][other_column]);
    }
  }
  return compared;
}

TEST(StoryClips, ThingsComeBackWithTheSamePixels) {
  const StoryOptions options = wide_story_options();
  const StoryClips clips(options, 11, ClipPart::train);
  int compared_events = 0;
  for (uint64_t index = 0; index < 40; ++index) {
    const Story story = clips.story(index);
    const stories::Painting painting = stories::paint_with_truth(story);
    for (const Reappearance& event : find_reappearances(painting.visible, options)) {
      int64_t compared = 0;
      for (int64_t before = 0; before < event.gone; ++before)
        for (int64_t after = event.back; after < painting.frames.size(0); ++after)
          compared += expect_same_look(story, painting, event.thing, before, after);
      compared_events += compared > 20 ? 1 : 0;
    }
  }
  EXPECT_GT(compared_events, 30);
}

// A thing painted white differs from one painted black by the share of each pixel that shows it.
TEST(StoryClips, TheTruthTellsWhichPixelsShowAThing) {
  const StoryOptions options = wide_story_options();
  const StoryClips clips(options, 2, ClipPart::train);
  for (uint64_t index = 0; index < 12; ++index) {
    Story story = clips.story(index);
    const at::Tensor visible = stories::paint_with_truth(story).visible.to(at::kInt);
    ASSERT_EQ(visible.size(0), int64_t(story.things.size()));
    for (size_t thing = 0; thing < story.things.size(); ++thing) {
      Story white = story, black = story;
      auto& look = story.things[thing].look;
      for (auto& [painted, level] : {std::pair{&white, 1.0F}, {&black, 0.0F}}) {
        auto& changed = painted->things[thing].look;
        changed.main.colour = changed.second.colour = {level, level, level};
      }
      const at::Tensor difference =
          (stories::paint(white).to(at::kInt) - stories::paint(black).to(at::kInt)).select(1, 1);
      EXPECT_LE((difference - visible[int64_t(thing)]).abs().max().item<int>(), 3)
          << index << " " << stories::look_words(look);
    }
  }
}

TEST(StoryClips, CaptionsTellLooksOnlyOfWhatNeedNotBeRemembered) {
  StoryOptions options = wide_story_options();
  const StoryClips clips(options, 4, ClipPart::train);
  options.tell_looks = true;
  const StoryClips telling(options, 4, ClipPart::train);
  int told = 0;
  for (uint64_t index = 0; index < 60; ++index) {
    const ClipTruth truth = clips.clip_with_truth(index);
    const Story story = clips.story(index);
    std::set<int64_t> returning;
    for (const auto& event : find_reappearances(truth.visible, clips.options()))
      returning.insert(event.thing);
    for (size_t thing = 0; thing < story.things.size(); ++thing) {
      const auto& look = story.things[thing].look;
      const std::string& caption = truth.clip.caption;
      EXPECT_THAT(caption, ::testing::HasSubstr(stories::shape_word(look.shape)));
      EXPECT_THAT(telling.caption(index), ::testing::HasSubstr(stories::look_words(look)));
      const bool tells = caption.find(stories::look_words(look)) != std::string::npos;
      EXPECT_FALSE(tells && returning.count(int64_t(thing)) > 0) << caption;
      told += tells ? 1 : 0;
    }
  }
  EXPECT_GE(told, 5);
}

TEST(StoryClips, KindsOfStoriesComeInTheSharesAskedFor) {
  StoryOptions options = wide_story_options();
  const auto count = [&](double pillars, double pans) {
    options.pillars = pillars, options.pans = pans;
    const StoryClips clips(options, 1, ClipPart::train);
    std::pair<int, int> counts;
    for (uint64_t index = 0; index < 100; ++index) {
      const Story story = clips.story(index);
      counts.first += story.pillar ? 1 : 0;
      counts.second += story.camera.end() > 0 ? 1 : 0;
    }
    return counts;
  };
  EXPECT_EQ(count(0, 0), (std::pair{0, 0}));
  EXPECT_EQ(count(1, 0), (std::pair{100, 0}));
  EXPECT_EQ(count(0, 1), (std::pair{0, 100}));
  const auto [pillars, pans] = count(0.3, 0.5);
  EXPECT_NEAR(pillars, 30, 15);
  EXPECT_NEAR(pans, 50, 15);
}

TEST(StoryClips, BadOptionsAreSentences) {
  const auto expect = [](auto change, const std::string& sentence) {
    StoryOptions options;
    change(options);
    EXPECT_SENTENCE(StoryClips(options, 1, ClipPart::train), sentence);
  };
  expect([](StoryOptions& options) { options.chunks = 3; }, "chunks is 3, expected 4 to");
  expect([](StoryOptions& options) { options.gap_max = 1; }, "gap_max is 1, expected 2 to");
  expect([](StoryOptions& options) { options.chunk_frames = 0; }, "chunk_frames is 0");
  expect([](StoryOptions& options) { options.first_chunk_short = 4; },
         "first_chunk_short is 4, expected 0 to 3");
  expect([](StoryOptions& options) { options.width = 8; }, "width is 8, expected 16 to");
  expect([](StoryOptions& options) { options.pans = 0.8; }, "pans 0.8, expected shares");
  expect([](StoryOptions& options) { options.fps = 0; }, "fps is 0");
  expect([](StoryOptions& options) { options.chunks = 60000, options.height = options.width = 4096; },
         "cannot be made");
}

}  // namespace
}  // namespace lact::data
