// Text of any size -> tokens, in bounded memory. The tokens are those of the whole text at once: it is cut
// only before a single blank, where no token reaches across.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lact/data/text/tokenizer.h"

namespace lact::data {

using TokenSink = std::function<void(const std::vector<int32_t>&)>;

struct PieceSizes {
  size_t usual = size_t{64} << 10;   ///< a piece ends at the first possible place behind so many bytes
  size_t longest = size_t{8} << 20;  ///< a piece without such a place ends here, between two characters
};

/// For text that comes in blocks of any size, say from a terminal.
class StreamEncoder {
 public:
  /// `tokenizer` must outlive the encoder.
  StreamEncoder(const Tokenizer& tokenizer, TokenSink sink, PieceSizes sizes = {});
  void push(std::string_view block);
  /// Encodes what is left; the next block begins a new text.
  void finish();

 private:
  size_t find_cut(std::string_view text);
  void encode(std::string_view piece);

  const Tokenizer& tokenizer_;
  TokenSink sink_;
  PieceSizes sizes_;
  std::string pending_;
  size_t searched_ = 0;  // no cut in pending_ before this
  bool at_beginning_ = true;
};

struct EncodedFile {
  uint64_t bytes;    ///< of the text of all documents
  std::string hash;  ///< of the file's contents, see Documents
};

using DocumentEnd = std::function<void(uint64_t text_bytes)>;

/// Gives the tokens of a text file to `sink`, piece by piece, and says where a document ends. A file without
/// text is an error.
EncodedFile encode_file(const Tokenizer& tokenizer, const std::string& path, const std::string& text_field,
                        const TokenSink& sink, const DocumentEnd& on_end = {}, PieceSizes sizes = {});

}  // namespace lact::data
