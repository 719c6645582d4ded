// Which things of a made-up clip go away and come back, and how well a model's clip shows them then.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <vector>

#include "lact/data/clips/story_options.h"

namespace lact::data {

struct Reappearance {
  int64_t thing = 0;
  int64_t gone = 0;  ///< the first frame without it
  int64_t back = 0;  ///< the first frame that shows something of it again
  int64_t gap = 0;   ///< whole chunks between these
};

/// A frame of a thing in pixels: rows [top, bottom), columns [left, right); all 0 where it is not seen.
struct VisibleBox {
  int64_t top = 0, left = 0, bottom = 0, right = 0;
  bool operator==(const VisibleBox&) const = default;
};

/// From `visible` [things, F, H, W] of a painting: things that were seen, then not for at least one whole
/// chunk, then seen again. In order of `back`.
std::vector<Reappearance> find_reappearances(const at::Tensor& visible, const StoryOptions& options);

/// visible [F, H, W] of one thing.
VisibleBox visible_box(const at::Tensor& visible, int64_t frame);

/// Where errors are looked at: shares of pixels, float32 [F, H, W].
struct ReappearanceRegions {
  at::Tensor returning;  ///< things, in the chunk in which they come back
  at::Tensor known;      ///< things that the chunk before shows too: no memory is needed for them
  at::Tensor elsewhere;  ///< the rest of the frames with something returning
  std::map<int64_t, at::Tensor> by_gap;  ///< `returning`, by the whole chunks that the thing was away
};

/// Things that were away for at least gap_min chunks count as returning.
ReappearanceRegions reappearance_regions(const at::Tensor& visible, const StoryOptions& options);

/// The regions' shares for latents of a codec: [F, H, W] -> [frames, rows, columns] by averaging. Frames are
/// grouped evenly, or the first is alone (a causal codec).
at::Tensor latent_shares(const at::Tensor& shares, int64_t frames, int64_t rows, int64_t columns);

/// Mean squared errors over clips, of pixels in any range.
class ReappearanceScore {
 public:
  /// A true clip and a model's, [channels, F, H, W]; for latents with the size of `latent_shares`.
  void add(const ReappearanceRegions& regions, const at::Tensor& truth, const at::Tensor& found);

  /// Means; not a number where no clip had such pixels.
  double returning() const { return returning_.mean(); }
  double known() const { return known_.mean(); }
  double elsewhere() const { return elsewhere_.mean(); }
  /// returning / elsewhere: 1 if what comes back is as good as the rest.
  double ratio() const { return returning() / elsewhere(); }
  std::map<int64_t, double> by_gap() const;

 private:
  struct Sum {
    double error = 0, weight = 0;
    void add(const at::Tensor& squares, const at::Tensor& shares);
    double mean() const { return error / weight; }
  };

  Sum returning_, known_, elsewhere_;
  std::map<int64_t, Sum> by_gap_;
};

}  // namespace lact::data
