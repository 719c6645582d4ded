// The authors' YAML of video training, read for the model that it describes: the key `model`, in which
// diffusion_config.model_config is Wan's transformer and efficient_attn_config its LaCT layer.
#pragma once

#include "lact/base/options.h"
#include "lact/models/video/config.h"

namespace lact::models {

bool is_authors_video(const options::Json& json);

/// A key of the model whose value has no meaning here is an error. What is about training (rates, noise,
/// files) is no part of a model; docs/video.md has the options that it corresponds to.
VideoConfig read_authors_video(const options::Json& json);

}  // namespace lact::models
