// A video model as a folder, config.json and model.safetensors; or as a folder of Wan 2.1 as it was
// published. A model that Wan's and the authors' code can express uses their tensor names; any other keeps
// ours.
#pragma once

#include <memory>
#include <string>

#include "lact/base/options.h"
#include "lact/models/video/model.h"

namespace lact::models {

/// Whether a config file is that of a video model: a folder's, Wan's, or the authors' YAML.
bool describes_video(const options::Json& json);

/// What such a file says, unchecked; of Wan's, with LaCT as the presets have it. Errors name `file`.
VideoConfig video_config_of(const options::Json& json, const std::string& file);

/// The config alone, checked; nothing is built.
VideoConfig read_video_config(const std::string& folder);

/// What else the folder's config.json says beside the model, such as what turns pixels into latents: an
/// object.
options::Json read_video_notes(const std::string& folder);

/// LaCT's parameters are fresh if the folder holds none of them, so that the output is that of window
/// attention alone.
std::shared_ptr<VideoModel> load_video(const std::string& folder);

/// The same as a model of another config, such as one with another mixer: fresh memory is added, or the
/// folder's is left out.
std::shared_ptr<VideoModel> load_video_as(const VideoConfig& config, const std::string& folder);

/// Gives a model the tensors of a checkpoint, .safetensors or .pt: Wan's alone, after which LaCT's parameters
/// are as they were, or an authors' checkpoint with all of them.
void load_video_weights(VideoModel& model, const std::string& file);

/// Creates the folder if it is missing. The config is written first, the tensors replace older ones
/// atomically. `type` is float32 or bfloat16, which takes half the space.
void save_video(const std::string& folder, const VideoModel& model, at::ScalarType type = at::kFloat,
                const options::Json& notes = options::Json::object());
void save_video_config(const std::string& folder, const VideoConfig& config,
                       const options::Json& notes = options::Json::object());

/// 16 hexadecimal digits that differ when any weight or size differs.
std::string fingerprint(const VideoModel& model);

}  // namespace lact::models
