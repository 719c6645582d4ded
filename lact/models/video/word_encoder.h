// The built-in text encoder, small and trained together with the video model: hashed words, then a few blocks
// of attention among them.
#pragma once

#include "lact/models/video/text.h"
#include "lact/nn/feed_forward.h"
#include "lact/nn/linear.h"
#include "lact/nn/norm.h"

namespace lact::models {

struct WordEncoderConfig {
  int64_t text_dim = 256;
  int64_t text_length = 32;
  int64_t word_buckets = 4096;
  int64_t gram_buckets = 8192;
  int64_t num_layers = 2;
  int64_t num_heads = 4;
  int64_t hidden_dim = 512;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("text_dim", text_dim, "channels of a word");
    field("text_length", text_length, "most words of a text and its end; longer texts are cut");
    field("word_buckets", word_buckets, "embeddings that words are spread over by their hash");
    field("gram_buckets", gram_buckets, "embeddings of the parts of words");
    field("num_layers", num_layers,
          "blocks of attention and feed-forward network; 0 leaves words by themselves");
    field("num_heads", num_heads, "attention heads");
    field("hidden_dim", hidden_dim, "channels inside the feed-forward network");
  }
  bool operator==(const WordEncoderConfig&) const = default;

  /// Throws one sentence for sizes that cannot work.
  void check() const;
};

class WordEncoderBlock;

class WordEncoder : public TextEncoder {
 public:
  explicit WordEncoder(const WordEncoderConfig& config);
  const WordEncoderConfig& config() const { return config_; }

  int64_t text_length() const override { return config_.text_length; }
  int64_t text_dim() const override { return config_.text_dim; }
  at::Tensor encode(const std::vector<std::string>& texts) const override;

 private:
  /// Embeddings [B, L, D] and a mask [B, L, 1] that is 1 at words and at the end token.
  std::pair<at::Tensor, at::Tensor> embed(const std::vector<std::string>& texts) const;

  WordEncoderConfig config_;
  at::Tensor words_, grams_;  ///< [buckets, D]
  at::Tensor end_;            ///< [D], the token after every text
  at::Tensor positions_;      ///< [L, D]
  std::vector<std::shared_ptr<WordEncoderBlock>> blocks_;
  std::shared_ptr<nn::Norm> norm_;
};

/// A folder with config.json and model.safetensors.
std::shared_ptr<WordEncoder> load_word_encoder(const std::string& folder);
void save_word_encoder(const std::string& folder, const WordEncoder& encoder);

}  // namespace lact::models
