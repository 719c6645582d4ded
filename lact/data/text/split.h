// Which part of a text is trained on and which part is kept for validation.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lact/data/text/token_array.h"

namespace lact::data {

struct Split {
  std::vector<std::string> train, valid;
};

/// About `valid_share` of the files are kept, at least one of each kind if there are two; a single file is
/// trained on. The choice depends on the seed and the names without folders, so it survives a move; files of
/// one name stay together.
Split split_files(const std::vector<std::string>& files, double valid_share, uint64_t seed);

/// {train, valid}: the last `valid_share` of [0, tokens) is kept.
std::pair<TokenRange, TokenRange> split_tokens(int64_t tokens, double valid_share);

/// {train, valid}: about `valid_share` of the documents is kept, at least one of each kind if there are two
/// that differ. The choice depends on the seed and on what a document says, so that no document that is kept
/// is also trained on, however often it comes. Of a single document the last tokens are kept.
std::pair<std::vector<TokenRange>, std::vector<TokenRange>> split_documents(const TokenArray& tokens,
                                                                            double valid_share,
                                                                            uint64_t seed);

}  // namespace lact::data
