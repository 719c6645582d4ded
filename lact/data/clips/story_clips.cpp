#include "lact/data/clips/story_clips.h"

#include "lact/base/options.h"
#include "lact/base/random.h"

namespace lact::data {

namespace {
constexpr int kStoryVersion = 1;  ///< another one for other pixels of the same seed
}

StoryClips::StoryClips(const StoryOptions& options, uint64_t seed, ClipPart part)
    : options_(options), seed_(mix(seed, part == ClipPart::train ? 1 : 2)) {
  options_.check();
}

stories::Story StoryClips::story(uint64_t index) const {
  return stories::make_story(options_, mix(seed_, index));
}

Clip StoryClips::clip(uint64_t index) const {
  const stories::Story story = this->story(index);
  return {stories::paint(story), story.caption, options_.fps};
}

ClipTruth StoryClips::clip_with_truth(uint64_t index) const {
  const stories::Story story = this->story(index);
  stories::Painting painting = stories::paint_with_truth(story);
  return {{std::move(painting.frames), story.caption, options_.fps}, std::move(painting.visible)};
}

std::string StoryClips::caption(uint64_t index) const { return story(index).caption; }

std::string StoryClips::identity(uint64_t index) const {
  return fmt::format("story {} {} {:016x}", kStoryVersion, options::write(options_).dump(),
                     mix(seed_, index));
}

}  // namespace lact::data
