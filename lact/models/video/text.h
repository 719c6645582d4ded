// Text -> what the video model attends to. "" is the text of generation without guidance.
#pragma once

#include <torch/nn/module.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lact/models/umt5/encoder.h"

namespace lact::models {

class TextEncoder : public torch::nn::Module {
 public:
  virtual int64_t text_length() const = 0;
  virtual int64_t text_dim() const = 0;

  /// [B, text_length, text_dim], zeros after the end of a text. A text that is too long is cut. Also "" has
  /// one token, which marks the end.
  virtual at::Tensor encode(const std::vector<std::string>& texts) const = 0;

  /// What guidance leads away from unless it is told otherwise.
  virtual std::string negative_prompt() const { return ""; }
};

/// The negative prompt with which Wan 2.1 is published, and with which the authors sample: words for
/// overexposed, static, blurred, badly drawn and the like.
extern const char* const kWanNegativePrompt;

/// Ids of a text's tokens, without a token for its end.
using Tokenize = std::function<std::vector<int32_t>(const std::string& text)>;

struct TextTokens {
  Tokenize tokenize;
  int32_t end = 1;  ///< the token after every text
};

/// umT5 behind this interface. It is not trained: its weights are no parameters of this module, and no
/// gradient flows.
class Umt5TextEncoder : public TextEncoder {
 public:
  Umt5TextEncoder(std::shared_ptr<const Umt5Encoder> encoder, TextTokens tokens, int64_t text_length = 512);

  int64_t text_length() const override { return text_length_; }
  int64_t text_dim() const override { return encoder_->config().model_dim; }
  at::Tensor encode(const std::vector<std::string>& texts) const override;
  std::string negative_prompt() const override { return kWanNegativePrompt; }

 private:
  std::shared_ptr<const Umt5Encoder> encoder_;
  TextTokens tokens_;
  int64_t text_length_;
};

/// Without blanks at both ends and with single blanks between words, as texts were cleaned in training.
std::string clean_text(const std::string& text);

}  // namespace lact::models
