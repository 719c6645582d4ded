#include "lact/data/text/split.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>

#include "lact/base/error.h"
#include "lact/base/fnv.h"
#include "lact/base/random.h"

namespace lact::data {

namespace {

/// `share` of `count`, but neither nothing nor all of it.
int64_t part_of(int64_t count, double share) {
  LACT_CHECK(share > 0 && share < 1, "the share for validation is {}, expected more than 0 and less than 1",
             share);
  if (count < 2) return 0;
  return std::clamp<int64_t>(std::llround(share * static_cast<double>(count)), 1, count - 1);
}

/// Keeps about `share` of the items, those with the lowest lots. Equal lots, which equal items have, stay
/// together, so there may be one part only.
std::vector<bool> choose(const std::vector<uint64_t>& lots, double share) {
  const int64_t kept = part_of(static_cast<int64_t>(lots.size()), share);
  std::vector<bool> is_kept(lots.size());
  if (kept == 0) return is_kept;
  std::vector<uint64_t> sorted = lots;
  std::sort(sorted.begin(), sorted.end());
  // Where all of the first lots are alike, they are kept unless nothing else is there.
  const uint64_t border = *std::upper_bound(sorted.begin(), sorted.end() - 1, sorted[kept - 1]);
  for (size_t i = 0; i < lots.size(); ++i) is_kept[i] = lots[i] < border;
  return is_kept;
}

uint64_t lot_of_document(const TokenArray& tokens, TokenRange document, uint64_t seed) {
  std::vector<int64_t> part;
  Fnv1a hash;
  constexpr int64_t kPart = 1 << 16;
  for (int64_t begin = document.begin; begin < document.end; begin += kPart) {
    part.resize(size_t(std::min(kPart, document.end - begin)));
    tokens.copy(begin, static_cast<int64_t>(part.size()), part.data());
    for (const int64_t token : part) hash.update_word(uint64_t(token));
  }
  return mix(seed, hash.value());
}

/// Documents that follow each other become one range.
void append(std::vector<TokenRange>& ranges, TokenRange range) {
  if (!ranges.empty() && ranges.back().end == range.begin) {
    ranges.back().end = range.end;
  } else {
    ranges.push_back(range);
  }
}

}  // namespace

Split split_files(const std::vector<std::string>& files, double valid_share, uint64_t seed) {
  LACT_CHECK(!files.empty(), "there are no files to split");
  std::vector<uint64_t> lots(files.size());
  for (size_t i = 0; i < files.size(); ++i) {
    Fnv1a hash;
    hash.update(std::filesystem::path(files[i]).filename().string());
    // FNV leaves the high bits of similar names alike, the generator does not.
    lots[i] = std::mt19937_64(hash.value() ^ seed)();
  }
  const std::vector<bool> is_valid = choose(lots, valid_share);
  Split split;
  for (size_t i = 0; i < files.size(); ++i) (is_valid[i] ? split.valid : split.train).push_back(files[i]);
  return split;
}

std::pair<TokenRange, TokenRange> split_tokens(int64_t tokens, double valid_share) {
  LACT_CHECK(tokens >= 2, "there are {} tokens to split, expected at least 2", tokens);
  const int64_t border = tokens - part_of(tokens, valid_share);
  return {{0, border}, {border, tokens}};
}

std::pair<std::vector<TokenRange>, std::vector<TokenRange>> split_documents(const TokenArray& tokens,
                                                                            double valid_share,
                                                                            uint64_t seed) {
  const auto& documents = tokens.documents();
  std::pair<std::vector<TokenRange>, std::vector<TokenRange>> split;
  if (documents.size() < 2) {
    const auto [train, valid] = split_tokens(tokens.size(), valid_share);
    return {{train}, {valid}};
  }
  std::vector<uint64_t> lots;
  for (const auto& document : documents) lots.push_back(lot_of_document(tokens, document, seed));
  const std::vector<bool> is_valid = choose(lots, valid_share);
  for (size_t i = 0; i < documents.size(); ++i)
    append(is_valid[i] ? split.second : split.first, documents[i]);
  return split;
}

}  // namespace lact::data
