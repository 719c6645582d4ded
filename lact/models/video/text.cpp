#include "lact/models/video/text.h"

#include <ATen/ATen.h>

#include <sstream>

#include "lact/base/error.h"

namespace lact::models {

const char* const kWanNegativePrompt =
    "色调艳丽，过曝，静态，细节模糊不清，字幕，风格，作品，画作，画面，静止，"
    "整体发灰，最差质量，低质量，JPEG压缩残留，丑陋的，残缺的，多余的手指，"
    "画得不好的手部，画得不好的脸部，畸形的，毁容的，形态畸形的肢体，手指融合，"
    "静止不动的画面，杂乱的背景，三条腿，背景人很多，倒着走";

std::string clean_text(const std::string& text) {
  std::istringstream words(text);
  std::string word, result;
  while (words >> word) result += (result.empty() ? "" : " ") + word;
  return result;
}

Umt5TextEncoder::Umt5TextEncoder(std::shared_ptr<const Umt5Encoder> encoder, TextTokens tokens,
                                 int64_t text_length)
    : encoder_(std::move(encoder)), tokens_(std::move(tokens)), text_length_(text_length) {
  LACT_CHECK(text_length >= 1, "[text] texts of {} tokens, expected at least 1", text_length);
  const int64_t vocabulary = encoder_->config().vocabulary;
  LACT_CHECK(tokens_.end >= 0 && tokens_.end < vocabulary,
             "[text] the end token is {}, expected 0 to {}: vocabulary and encoder differ", tokens_.end,
             vocabulary - 1);
}

at::Tensor Umt5TextEncoder::encode(const std::vector<std::string>& texts) const {
  LACT_CHECK(!texts.empty(), "[text] there is no text");
  at::NoGradGuard no_grad;
  std::vector<at::Tensor> encoded;
  for (const std::string& text : texts) {
    std::vector<int32_t> ids = tokens_.tokenize(clean_text(text));
    if (int64_t(ids.size()) >= text_length_) ids.resize(size_t(text_length_ - 1));
    ids.push_back(tokens_.end);
    // Padding is hidden from every token, so that a text by itself gives the same numbers without it.
    const at::Tensor states = encoder_->forward(at::tensor(ids, at::kLong).unsqueeze(0));
    encoded.push_back(at::constant_pad_nd(states, {0, 0, 0, text_length_ - int64_t(ids.size())}));
  }
  return at::cat(encoded);
}

}  // namespace lact::models
