// The embedded default clips: made-up stories without end.
#pragma once

#include <cstdint>
#include <string>

#include "lact/data/clips/clip.h"
#include "lact/data/clips/painter.h"
#include "lact/data/clips/reappearance.h"
#include "lact/data/clips/story_options.h"

namespace lact::data {

/// A clip, and what is seen where in it.
struct ClipTruth {
  Clip clip;
  at::Tensor visible;  ///< uint8 [things, F, H, W]: the share of a pixel that shows the thing, of 255
};

class StoryClips : public ClipSource {
 public:
  /// The two parts of a seed have no clip in common.
  StoryClips(const StoryOptions& options, uint64_t seed, ClipPart part);

  Clip clip(uint64_t index) const override;
  std::string caption(uint64_t index) const override;
  std::string identity(uint64_t index) const override;
  ClipShape shape() const override { return options_.shape(); }

  ClipTruth clip_with_truth(uint64_t index) const;
  stories::Story story(uint64_t index) const;
  const StoryOptions& options() const { return options_; }

 private:
  StoryOptions options_;
  uint64_t seed_;
};

}  // namespace lact::data
