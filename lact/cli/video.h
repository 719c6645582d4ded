// The verbs of `lact video`, one file each, and what they share.
#pragma once

#include <memory>
#include <string>

#include "lact/models/vae/codec.h"
#include "lact/models/video/model.h"
#include "lact/models/video/text.h"

namespace CLI {
class App;
}

namespace lact::cli {

void add_video_generate(CLI::App& task, int& exit_code);

/// Which model to run, and how.
struct VideoWords {
  std::string model, precision = "f32";
};
void add_video_options(CLI::App& verb, VideoWords& words);

/// The weights that come with the program; "" where there are none.
std::string shipped_video();

/// A model with what turns latents into pixels and words into numbers.
struct LoadedVideo {
  std::shared_ptr<models::VideoModel> model;
  std::shared_ptr<models::VideoCodec> codec;
  std::shared_ptr<models::TextEncoder> text;
  std::string path;  ///< the folder
  std::string fingerprint;
};

/// The named folder, or the shipped weights. Throws a sentence if its parts do not fit together.
LoadedVideo load_video_model(const VideoWords& words);

}  // namespace lact::cli
