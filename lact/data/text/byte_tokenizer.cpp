#include "lact/base/error.h"
#include "lact/base/fnv.h"
#include "lact/data/text/tokenizer.h"

namespace lact::data {

namespace {

class ByteTokenizer final : public Tokenizer {
 public:
  int64_t vocabulary_size() const override { return 256; }
  int32_t end_of_text() const override { return 0; }

  std::vector<int32_t> encode(std::string_view utf8) const override {
    std::vector<int32_t> tokens(utf8.size());
    for (size_t i = 0; i < utf8.size(); ++i) tokens[i] = static_cast<uint8_t>(utf8[i]);
    return tokens;
  }

  std::vector<int32_t> encode_continuation(std::string_view utf8) const override { return encode(utf8); }

  std::string token_bytes(int32_t token) const override {
    LACT_CHECK(token >= 0 && token < 256, "token {} is not in the vocabulary, which has 256 bytes", token);
    return std::string(1, static_cast<char>(token));
  }

  std::string decode(const std::vector<int32_t>& tokens) const override {
    std::string text;
    for (const int32_t token : tokens) text += token_bytes(token);
    return text;
  }

  std::string description() const override { return "bytes"; }
  std::string hash() const override { return fnv_hex("bytes"); }
  std::string model_bytes() const override { return ""; }
  bool blanks_are_borders() const override { return true; }
};

}  // namespace

std::unique_ptr<Tokenizer> byte_tokenizer() { return std::make_unique<ByteTokenizer>(); }

}  // namespace lact::data
