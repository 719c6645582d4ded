// What a codec makes of clips, kept on the disk: it takes far longer to make than to read.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>

#include "lact/data/clips/clip.h"

namespace lact::data {

/// One file for each clip, named after a hash of the clip's identity and the codec's name, and written whole
/// or not at all. A file that is damaged or belongs to another clip is made anew. Safe for several threads
/// and programs.
class LatentCache {
 public:
  /// uint8 [F, 3, H, W] -> latents [channels, frames, rows, columns]
  using Encode = std::function<at::Tensor(const at::Tensor& frames)>;

  /// `codec` tells codecs and their weights apart. The folder is made if it is missing.
  LatentCache(std::string folder, std::string codec, Encode encode);

  /// Of the source's clip; the clip is made only if its latents are not there yet.
  at::Tensor latents(const ClipSource& source, uint64_t index) const;

  /// Where the latents of this identity are kept.
  std::string file_name(const std::string& identity) const;

 private:
  /// Undefined if there are none, or none that can be used.
  at::Tensor stored(const std::string& file, const std::string& identity) const;

  std::string folder_, codec_;
  Encode encode_;
};

}  // namespace lact::data
