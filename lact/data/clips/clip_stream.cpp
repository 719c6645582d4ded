#include "lact/data/clips/clip_stream.h"

#include <ATen/ATen.h>

#include <utility>

#include "lact/base/error.h"

namespace lact::data {

namespace {

void check_clip_batch_size(int64_t size) {
  LACT_CHECK(size >= 1 && size <= 1 << 16, "a batch of {} clips is asked for, expected 1 to {}", size,
             1 << 16);
}

}  // namespace

SampleMaker frame_samples(std::shared_ptr<const ClipSource> source) {
  return [source = std::move(source)](uint64_t index) -> ClipSample {
    Clip clip = source->clip(index);
    return {std::move(clip.frames), std::move(clip.caption)};
  };
}

SampleMaker latent_samples(std::shared_ptr<const ClipSource> source,
                           std::shared_ptr<const LatentCache> cache) {
  return [source = std::move(source), cache = std::move(cache)](uint64_t index) -> ClipSample {
    return {cache->latents(*source, index), source->caption(index)};
  };
}

ClipBatch make_clip_batch(const SampleMaker& make, int64_t size, int64_t number,
                          const StopCheck& stop_check) {
  check_clip_batch_size(size);
  ClipBatch batch;
  batch.number = number;
  batch.first_index = static_cast<uint64_t>(number) * static_cast<uint64_t>(size);
  for (int64_t i = 0; i < size; ++i) {
    stop_check();
    ClipSample sample = make(batch.first_index + static_cast<uint64_t>(i));
    if (i == 0) {
      std::vector<int64_t> sizes = sample.values.sizes().vec();
      sizes.insert(sizes.begin(), size);
      batch.values = at::empty(sizes, sample.values.options());
    }
    LACT_CHECK(sample.values.sizes() == batch.values.sizes().slice(1) &&
                   sample.values.scalar_type() == batch.values.scalar_type(),
               "clip {} of batch {} has shape {}, but the first one {}", i, number,
               sample.values.sizes().vec(), batch.values.sizes().slice(1).vec());
    batch.values[i].copy_(sample.values);
    batch.captions.push_back(std::move(sample.caption));
  }
  return batch;
}

ClipStream::ClipStream(SampleMaker make, int64_t batch_size, const StreamOptions& options)
    : Stream(
          [make = std::move(make), batch_size](int64_t number, const StopCheck& stop_check) {
            return make_clip_batch(make, batch_size, number, stop_check);
          },
          (check_clip_batch_size(batch_size), options), "clip-reading") {}

}  // namespace lact::data
