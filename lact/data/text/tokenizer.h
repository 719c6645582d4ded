// Text <-> numbers. A tokenizer is read from a file once and never changes; all functions may be called from
// several threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lact::data {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual int64_t vocabulary_size() const = 0;
  /// The token between documents.
  virtual int32_t end_of_text() const = 0;
  /// Adds no tokens for the beginning or the end.
  virtual std::vector<int32_t> encode(std::string_view utf8) const = 0;
  /// The same for text that continues another one: nothing is put before it, and its first blanks stay.
  virtual std::vector<int32_t> encode_continuation(std::string_view utf8) const = 0;
  /// The bytes a token stands for, which may be part of a character; none for control and unknown tokens.
  virtual std::string token_bytes(int32_t token) const = 0;
  /// The bytes of all tokens, without the blank that `encode` puts before a text.
  virtual std::string decode(const std::vector<int32_t>& tokens) const = 0;

  /// "bytes" or "SentencePiece, 4096 pieces"
  virtual std::string description() const = 0;
  /// 16 hexadecimal digits that differ between tokenizers.
  virtual std::string hash() const = 0;
  /// The file's contents, from which sentencepiece_from_bytes makes the tokenizer again; "" for bytes.
  virtual std::string model_bytes() const = 0;

  /// Whether no token reaches across the border before a single blank, so that text may be cut there.
  virtual bool blanks_are_borders() const = 0;
};

/// Each byte is a token; end_of_text is the byte 0.
std::unique_ptr<Tokenizer> byte_tokenizer();

/// A SentencePiece model, BPE or unigram; end_of_text is its end-of-sentence token, or the unknown token if
/// there is none.
std::unique_ptr<Tokenizer> sentencepiece_tokenizer(const std::string& path);
std::unique_ptr<Tokenizer> sentencepiece_from_bytes(const std::string& bytes,
                                                    const std::string& name_in_errors);

/// "bytes", a SentencePiece file, or a folder that holds tokenizer.model.
std::unique_ptr<Tokenizer> read_tokenizer(const std::string& word_or_path);

}  // namespace lact::data
