// A whole folder of a video model: transformer, codec and text encoder.
#pragma once

#include <string>

#include "lact/models/vae/codec.h"
#include "lact/models/video/folder.h"
#include "lact/models/video/word_encoder.h"
#include "support/tiny_video.h"

namespace lact::testing {

/// Pixels are latents.
inline void save_tiny_video(const std::string& folder, uint64_t seed = 3) {
  models::save_video(folder, *make_video(tiny_video(), seed));
  models::save_codec(folder + "/codec", models::PixelCodec(1));
  models::WordEncoderConfig words;
  words.text_dim = 6;
  words.text_length = 5;
  words.word_buckets = words.gram_buckets = 64;
  words.num_layers = 1;
  words.num_heads = 2;
  words.hidden_dim = 16;
  models::save_word_encoder(folder + "/text", models::WordEncoder(words));
}

}  // namespace lact::testing
