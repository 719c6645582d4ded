// A folder becomes a video model and what it needs beside it: config.json and model.safetensors, codec/ and
// text/.
#pragma once

#include <memory>
#include <string>

#include "lact/models/vae/codec.h"
#include "lact/models/video/model.h"
#include "lact/models/video/text.h"
#include "lact/ops/dispatch/precision.h"

namespace lact::tasks::video {

struct VideoParts {
  std::shared_ptr<models::VideoModel> model;
  std::shared_ptr<models::VideoCodec> codec;
  std::shared_ptr<models::TextEncoder> text;
};

struct LoadOptions {
  ops::Precision precision = ops::Precision::automatic;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("precision", precision, "f32, bf16, or auto: bf16 where this processor multiplies it faster");
  }
  bool operator==(const LoadOptions&) const = default;
};

struct Loaded : VideoParts {
  std::string path;  ///< the folder
  std::string fingerprint;
};

/// The weights that come with the program; "" where there are none.
std::string shipped_weights();

/// "": the shipped weights. Throws a sentence if a part is missing or if they do not fit together.
Loaded load(const std::string& folder, const LoadOptions& options = {});

/// The parts alone, to be trained further.
VideoParts load_video_parts(const std::string& folder);

/// The built-in encoder, or umT5 if the folder has a vocabulary, tokenizer.model.
std::shared_ptr<models::TextEncoder> load_text_encoder(const std::string& folder, int64_t text_length);

/// Throws a sentence that begins with `place` if the parts do not fit together.
void check_video_parts(const VideoParts& parts, const std::string& place);

/// "pixels", in the patches that the model's channels are made of; or the folder or file of an autoencoder.
std::shared_ptr<models::VideoCodec> codec_by_name(const std::string& name, const models::VideoConfig& config);

/// Whether the model has a memory that still does nothing, as one that was added to a trained model.
bool has_new_memory(const models::VideoModel& model);

}  // namespace lact::tasks::video
