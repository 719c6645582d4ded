// A video in the making, as a file: both memories, what was asked for, and what a decoder keeps of the chunks
// so far. With LaCT its size does not depend on the length of the video.
#pragma once

#include <string>

#include "lact/models/video/sample.h"

namespace lact::models {

/// `model_hash` is fingerprint(model). `decoder` is what the codec's decoder remembers, or null. Written
/// whole or not at all.
void save_sampling(const std::string& path, const VideoSampling& sampling, State* decoder,
                   const std::string& model_hash);

/// Fills `decoder`, unless it is null; it must have the shapes of the saved one. Throws a sentence if the
/// file is not a video in the making, belongs to another model, or does not fit.
VideoSampling load_sampling(const std::string& path, VideoModel& model, State* decoder,
                            const std::string& model_hash);

}  // namespace lact::models
