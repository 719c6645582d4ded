#include <algorithm>

#include "lact/base/error.h"
#include "lact/base/fnv.h"
#include "lact/data/text/piece_encoder.h"
#include "lact/data/text/sentencepiece_model.h"
#include "lact/data/text/sentencepiece_normalizer.h"
#include "lact/data/text/tokenizer.h"
#include "lact/io/regular_file.h"

namespace lact::data {

namespace {

using Kind = SentencePieceModel::Kind;

constexpr uint64_t kMaxModelBytes = uint64_t{1} << 30;

std::string bytes_of(const SentencePieceModel::Piece& piece) {
  switch (piece.kind) {
    case Kind::unknown:
    case Kind::control:
      return "";
    case Kind::byte:
      return std::string(1, static_cast<char>(std::stoi(piece.text.substr(3, 2), nullptr, 16)));
    default:
      break;
  }
  std::string bytes;
  for (std::string_view rest = piece.text; !rest.empty();) {
    const bool blank = rest.starts_with(kBlankMark);
    bytes += blank ? ' ' : rest.front();
    rest.remove_prefix(blank ? kBlankMark.size() : 1);
  }
  return bytes;
}

/// Whether a blank comes only at the beginning of the piece.
bool begins_words_only(const SentencePieceModel::Piece& piece) {
  std::string_view text = piece.text;
  while (text.starts_with(kBlankMark)) text.remove_prefix(kBlankMark.size());
  return text.find(kBlankMark) == text.npos && text.find(' ') == text.npos;
}

class SentencePieceTokenizer final : public Tokenizer {
 public:
  SentencePieceTokenizer(const std::string& bytes, const std::string& name)
      : model_bytes_(bytes),
        model_(parse_sentencepiece_model(bytes, name)),
        normalizer_(model_, name),
        encoder_(model_.is_bpe ? bpe_encoder(model_) : unigram_encoder(model_)) {
    token_bytes_.reserve(model_.pieces.size());
    for (const auto& piece : model_.pieces) token_bytes_.push_back(bytes_of(piece));
    blanks_are_borders_ = std::all_of(model_.pieces.begin(), model_.pieces.end(), [&](const auto& piece) {
      return !model_.is_text(piece) || begins_words_only(piece);
    });
  }

  int64_t vocabulary_size() const override { return static_cast<int64_t>(model_.pieces.size()); }
  int32_t end_of_text() const override {
    return model_.end_of_sentence >= 0 ? model_.end_of_sentence : model_.unknown;
  }

  std::vector<int32_t> encode(std::string_view utf8) const override {
    return encode_normalized(normalizer_.normalize(utf8));
  }
  std::vector<int32_t> encode_continuation(std::string_view utf8) const override {
    return encode_normalized(normalizer_.normalize_continuation(utf8));
  }

  std::string token_bytes(int32_t token) const override {
    check(token);
    return token_bytes_[token];
  }

  std::string decode(const std::vector<int32_t>& tokens) const override {
    std::string text;
    bool at_beginning = model_.add_dummy_prefix;
    for (const int32_t token : tokens) {
      check(token);
      std::string_view bytes = token_bytes_[token];
      if (at_beginning && model_.pieces[token].kind != Kind::byte && bytes.starts_with(' ')) {
        bytes.remove_prefix(1);
        at_beginning = false;
      }
      text += bytes;
      // Control tokens before the text leave it at its beginning; an unknown token is part of it.
      at_beginning = at_beginning && model_.pieces[token].kind == Kind::control;
    }
    return text;
  }

  std::string description() const override {
    return fmt::format("SentencePiece, {} pieces", model_.pieces.size());
  }
  std::string hash() const override { return fnv_hex(model_bytes_); }
  std::string model_bytes() const override { return model_bytes_; }
  bool blanks_are_borders() const override { return blanks_are_borders_; }

 private:
  std::vector<int32_t> encode_normalized(const std::string& normalized) const {
    std::vector<int32_t> tokens;
    bool after_unknown = false;
    for (const auto& [text, piece] : encoder_->encode(normalized)) {
      const bool unknown = piece == model_.unknown;
      if (unknown && model_.byte_fallback) {
        for (const char byte : text) tokens.push_back(model_.byte_pieces[static_cast<uint8_t>(byte)]);
      } else if (!unknown || !after_unknown) {
        // Unknown characters in a row are one token.
        tokens.push_back(piece);
      }
      after_unknown = unknown;
    }
    return tokens;
  }

  void check(int32_t token) const {
    LACT_CHECK(token >= 0 && token < vocabulary_size(),
               "token {} is not in the vocabulary, which has {} pieces", token, vocabulary_size());
  }

  std::string model_bytes_;
  SentencePieceModel model_;
  SentencePieceNormalizer normalizer_;     // refers to model_
  std::unique_ptr<PieceEncoder> encoder_;  // refers to model_
  std::vector<std::string> token_bytes_;
  bool blanks_are_borders_ = false;
};

}  // namespace

std::unique_ptr<Tokenizer> sentencepiece_from_bytes(const std::string& bytes,
                                                    const std::string& name_in_errors) {
  return std::make_unique<SentencePieceTokenizer>(bytes, name_in_errors);
}

std::unique_ptr<Tokenizer> sentencepiece_tokenizer(const std::string& path) {
  return sentencepiece_from_bytes(io::read_whole_file(path, kMaxModelBytes), path);
}

}  // namespace lact::data
