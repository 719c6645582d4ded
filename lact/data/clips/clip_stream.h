// Batches of clips, made ahead of their use by background threads.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lact/data/clips/clip.h"
#include "lact/data/clips/latent_cache.h"
#include "lact/data/stream.h"

namespace lact::data {

/// A clip as it goes into a batch.
struct ClipSample {
  at::Tensor values;  ///< frames, uint8 [F, 3, H, W], or latents [channels, frames, rows, columns]
  std::string caption;
};

struct ClipBatch {
  int64_t number = 0;
  at::Tensor values;  ///< [B, ...] of the samples
  std::vector<std::string> captions;
  uint64_t first_index = 0;  ///< in the source; the others follow it
};

/// A sample for an index; called from several threads at once.
using SampleMaker = std::function<ClipSample(uint64_t index)>;

SampleMaker frame_samples(std::shared_ptr<const ClipSource> source);
SampleMaker latent_samples(std::shared_ptr<const ClipSource> source,
                           std::shared_ptr<const LatentCache> cache);

/// Batch `number` of `size` clips: indices number * size, ... A sentence if the samples differ in shape.
ClipBatch make_clip_batch(
    const SampleMaker& make, int64_t size, int64_t number, const StopCheck& stop_check = [] {});

class ClipStream : public Stream<ClipBatch> {
 public:
  ClipStream(SampleMaker make, int64_t batch_size, const StreamOptions& options = {});
};

}  // namespace lact::data
