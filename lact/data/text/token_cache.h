// Text files -> one row of tokens. The text is tokenised once and kept in a token file, with a manifest of
// what it was made of; the next call maps the file if nothing has changed.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lact/data/text/text_format.h"
#include "lact/data/text/token_array.h"
#include "lact/data/text/tokenizer.h"

namespace lact::data {

struct CorpusOptions {
  std::vector<std::string> paths;  ///< text files and folders, see find_text_files
  std::string cache_folder;        ///< "": .lact-cache beside the first path, or a cache folder of the user's
  std::function<void(const std::string& message)> on_progress;
  TextFormat format = {};
};

/// The tokens of all documents, one end_of_text token after each unless the format leaves them out. Several
/// processes may open the same corpus at once: each finds a whole token file or makes one.
std::shared_ptr<TokenArray> open_corpus(const Tokenizer& tokenizer, const CorpusOptions& options);

}  // namespace lact::data
