#include "lact/models/video/text.h"

#include <ATen/ATen.h>

#include <sstream>

#include "lact/base/error.h"

namespace lact::models {

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
