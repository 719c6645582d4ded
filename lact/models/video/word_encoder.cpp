#include "lact/models/video/word_encoder.h"

#include <ATen/ATen.h>

#include <cmath>

#include "lact/base/error.h"
#include "lact/io/tensor_folder.h"
#include "lact/models/common/config_checks.h"
#include "lact/models/common/config_file.h"
#include "lact/models/common/foreign.h"
#include "lact/models/video/words.h"
#include "lact/nn/init.h"

namespace lact::models {

namespace {

const char* const kWordEncoderType = "word_encoder";

const nn::NormOptions kWordNorm = {nn::NormKind::rms, 1e-6};

/// The words of a batch as numbers, one row after the other.
struct HashedTexts {
  std::vector<int64_t> words, grams, gram_begins;
  std::vector<int64_t> places;  ///< of the words in [B · L]
  std::vector<int64_t> ends;    ///< of the end tokens in [B · L]
};

HashedTexts hash_texts(const std::vector<std::string>& texts, const WordEncoderConfig& config) {
  HashedTexts result;
  for (size_t i = 0; i < texts.size(); ++i) {
    const int64_t row = int64_t(i) * config.text_length;
    int64_t place = 0;
    for (const std::string& word : split_words(texts[i])) {
      if (place == config.text_length - 1) break;
      result.words.push_back(word_bucket(word, config.word_buckets));
      result.gram_begins.push_back(int64_t(result.grams.size()));
      for (const int64_t gram : gram_buckets(word, config.gram_buckets)) result.grams.push_back(gram);
      result.places.push_back(row + place++);
    }
    result.ends.push_back(row + place);
  }
  return result;
}

at::Tensor whole_numbers(const std::vector<int64_t>& values) { return at::tensor(values, at::kLong); }

}  // namespace

void WordEncoderConfig::check() const {
  check_size("text_dim", text_dim);
  check_size("text_length", text_length);
  check_size("word_buckets", word_buckets);
  check_size("gram_buckets", gram_buckets);
  LACT_CHECK(num_layers >= 0 && num_layers <= kMostLayers, "[config] num_layers is {}, expected 0 to {}",
             num_layers, kMostLayers);
  check_size("num_heads", num_heads);
  LACT_CHECK(text_dim % num_heads == 0, "[config] num_heads is {}, which does not divide text_dim {}",
             num_heads, text_dim);
  check_size("hidden_dim", hidden_dim);
}

/// x + attention(norm(x)), then x + network(norm(x)).
class WordEncoderBlock : public torch::nn::Module {
 public:
  explicit WordEncoderBlock(const WordEncoderConfig& config) : num_heads_(config.num_heads) {
    const int64_t width = config.text_dim;
    attention_norm_ = register_module("attention_norm", std::make_shared<nn::Norm>(width, kWordNorm));
    qkv_ = register_module("qkv", std::make_shared<nn::Linear>(width, 3 * width, false));
    output_ = register_module("output", std::make_shared<nn::Linear>(width, width, false));
    network_norm_ = register_module("feed_forward_norm", std::make_shared<nn::Norm>(width, kWordNorm));
    network_ = register_module(
        "feed_forward",
        std::make_shared<nn::FeedForward>(
            width, nn::FeedForwardOptions{nn::FeedForwardKind::gelu_tanh, config.hidden_dim, true}));
  }

  /// `hidden_keys` [B, 1, 1, L] is true behind the end of a text.
  at::Tensor forward(const at::Tensor& x, const at::Tensor& hidden_keys) const {
    const auto parts =
        qkv_->forward(attention_norm_->forward(x)).unflatten(-1, {3, num_heads_, -1}).unbind(2);
    const at::Tensor q = parts[0].transpose(1, 2), k = parts[1].transpose(1, 2), v = parts[2].transpose(1, 2);
    const at::Tensor scores = at::matmul(q, k.transpose(2, 3)) / std::sqrt(double(q.size(-1)));
    const at::Tensor share = scores.masked_fill(hidden_keys, -std::numeric_limits<float>::max()).softmax(-1);
    const at::Tensor seen = at::matmul(share, v).transpose(1, 2).flatten(2).contiguous();
    const at::Tensor y = x + output_->forward(seen);
    return y + network_->forward(network_norm_->forward(y));
  }

 private:
  int64_t num_heads_;
  std::shared_ptr<nn::Norm> attention_norm_, network_norm_;
  std::shared_ptr<nn::Linear> qkv_, output_;
  std::shared_ptr<nn::FeedForward> network_;
};

WordEncoder::WordEncoder(const WordEncoderConfig& config) : config_(config) {
  config.check();
  const auto table = [&](const char* name, at::IntArrayRef sizes) {
    const at::Tensor values = register_parameter(name, at::empty(sizes));
    nn::init_normal(values, nn::kLinearStd);
    return values;
  };
  words_ = table("words", {config.word_buckets, config.text_dim});
  grams_ = table("grams", {config.gram_buckets, config.text_dim});
  end_ = table("end", {config.text_dim});
  positions_ = table("positions", {config.text_length, config.text_dim});
  for (int64_t i = 0; i < config.num_layers; ++i)
    blocks_.push_back(
        register_module("block" + std::to_string(i), std::make_shared<WordEncoderBlock>(config)));
  norm_ = register_module("norm", std::make_shared<nn::Norm>(config.text_dim, kWordNorm));
}

std::pair<at::Tensor, at::Tensor> WordEncoder::embed(const std::vector<std::string>& texts) const {
  const HashedTexts hashed = hash_texts(texts, config_);
  const int64_t batch = int64_t(texts.size()), length = config_.text_length, width = config_.text_dim;
  const auto device = words_.device();
  const at::Tensor ends = whole_numbers(hashed.ends).to(device);
  at::Tensor x = at::zeros({batch * length, width}, words_.options());
  at::Tensor mask = at::zeros({batch * length, 1}, words_.options()).index_fill_(0, ends, 1);
  x = x.index_copy(0, ends, end_.expand({batch, width}));
  if (!hashed.words.empty()) {
    const at::Tensor places = whole_numbers(hashed.places).to(device);
    const at::Tensor parts =
        std::get<0>(at::embedding_bag(grams_, whole_numbers(hashed.grams).to(device),
                                      whole_numbers(hashed.gram_begins).to(device), false, /*mode: mean*/ 1));
    x = x.index_copy(0, places, at::embedding(words_, whole_numbers(hashed.words).to(device)) + parts);
    mask.index_fill_(0, places, 1);
  }
  return {x.reshape({batch, length, width}) + positions_, mask.reshape({batch, length, 1})};
}

at::Tensor WordEncoder::encode(const std::vector<std::string>& texts) const {
  LACT_CHECK(!texts.empty(), "[text] there is no text");
  auto [x, mask] = embed(texts);
  const at::Tensor hidden_keys = mask.eq(0).squeeze(2).unsqueeze(1).unsqueeze(1);
  for (const auto& block : blocks_) x = block->forward(x, hidden_keys);
  return norm_->forward(x) * mask;
}

std::shared_ptr<WordEncoder> load_word_encoder(const std::string& folder) {
  auto encoder = nn::make_uninitialised<WordEncoder>(
      read_config_of<WordEncoderConfig>(folder, kWordEncoderType, "built-in text encoder"));
  adopt_foreign(*encoder, own_names(*encoder), folder, io::read_tensor_folder(folder));
  return encoder;
}

void save_word_encoder(const std::string& folder, const WordEncoder& encoder) {
  write_config_file(folder, kWordEncoderType, options::write(encoder.config()));
  io::write_tensor_folder(folder, export_foreign(encoder, own_names(encoder)));
}

}  // namespace lact::models
