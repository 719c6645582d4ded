// A long row of tokens in a file, mapped into memory: only what is read takes space there. The file is
//
//   tokens      uint16 or uint32, filled up with zeros to 8 bytes
//   documents   for each the place behind its last token, uint64
//   footer      64 bytes: counts and hashes
//
// in little endian. The counts stand at the end since they are known last, and the file is written in one go.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lact/base/fnv.h"
#include "lact/data/text/token_range.h"
#include "lact/io/atomic_file.h"

namespace lact::data {

/// Read-only; may be used from several threads.
class TokenArray {
 public:
  /// Throws lact::Error if the file is not a whole, unchanged token file.
  explicit TokenArray(const std::string& path);
  ~TokenArray();
  TokenArray(const TokenArray&) = delete;
  TokenArray& operator=(const TokenArray&) = delete;

  int64_t size() const { return size_; }
  int64_t operator[](int64_t place) const;
  /// Tokens [begin, begin + count) to `out`.
  void copy(int64_t begin, int64_t count, int64_t* out) const;

  /// Without gaps; each ends with its end_of_text token, if it has one.
  const std::vector<TokenRange>& documents() const { return documents_; }
  /// Bytes of the text the tokens were made of.
  int64_t text_bytes() const { return text_bytes_; }
  int64_t vocabulary_size() const { return vocabulary_size_; }
  /// 16 hexadecimal digits.
  const std::string& hash() const { return hash_; }

 private:
  void check_contents(const std::string& path);

  void* bytes_ = nullptr;
  size_t file_bytes_ = 0;
  bool is_wide_ = false;  // uint32, else uint16
  int64_t size_ = 0, text_bytes_ = 0, vocabulary_size_ = 0;
  std::string hash_;
  std::vector<TokenRange> documents_;
};

/// Writes a token file; only a small part of it is in memory.
class TokenArrayWriter {
 public:
  TokenArrayWriter(io::FileWriter& file, int64_t vocabulary_size);
  void append(const std::vector<int32_t>& tokens);
  /// `end_of_text`: the token that ends the document, if one does.
  void end_document(std::optional<int32_t> end_of_text, uint64_t text_bytes);
  /// Completes the file and gives its hash. Nothing may follow.
  std::string finish();

  int64_t tokens() const { return tokens_; }
  int64_t text_bytes() const { return static_cast<int64_t>(text_bytes_); }

 private:
  void write_words(const std::string& bytes);

  io::FileWriter& file_;
  int64_t vocabulary_size_;
  std::string pending_;  // less than a word after each call
  Fnv1a hash_;
  int64_t tokens_ = 0;
  uint64_t text_bytes_ = 0;
  std::vector<uint64_t> document_ends_;
};

}  // namespace lact::data
