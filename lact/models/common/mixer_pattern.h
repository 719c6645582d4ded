// Which mixer each layer of a model has: one word for all of them, or a pattern that repeats, such as
// "3 lact : 1 full".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lact/models/common/mixer_kind.h"

namespace lact::models {

class MixerPattern {
 public:
  /// The same in all layers.
  MixerPattern(MixerKind kind = MixerKind::lact) : runs_{{1, kind}} {}  // NOLINT: a word is a pattern

  /// "lact", or counts and words between colons; a missing count is 1. Throws a sentence.
  static MixerPattern parse(const std::string& text);

  /// What parse reads, in its shortest form.
  std::string text() const;

  MixerKind kind_of(int64_t layer) const;

  /// Each word once, in the order of the layers.
  std::vector<MixerKind> kinds() const;
  bool has(MixerKind kind) const;

  /// Layers after which it repeats; 1 for a single word.
  int64_t period() const;
  /// How many of the first `num_layers` layers have this mixer.
  int64_t count_of(MixerKind kind, int64_t num_layers) const;

  bool operator==(const MixerPattern&) const = default;

 private:
  struct Run {
    int64_t layers;
    MixerKind kind;
    bool operator==(const Run&) const = default;
  };
  std::vector<Run> runs_;  ///< neighbours differ; a single one has one layer
};

}  // namespace lact::models
