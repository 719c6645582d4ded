#include "lact/data/text/split.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <random>

#include "lact/base/error.h"
#include "lact/base/fnv.h"

namespace lact::data {

namespace {

/// `share` of `count`, but neither nothing nor all of it.
int64_t part_of(int64_t count, double share) {
  LACT_CHECK(share > 0 && share < 1, "the share for validation is {}, expected more than 0 and less than 1",
             share);
  if (count < 2) return 0;
  return std::clamp<int64_t>(std::llround(share * static_cast<double>(count)), 1, count - 1);
}

}  // namespace

Split split_files(const std::vector<std::string>& files, double valid_share, uint64_t seed) {
  LACT_CHECK(!files.empty(), "there are no files to split");
  const int64_t kept = part_of(static_cast<int64_t>(files.size()), valid_share);
  std::vector<uint64_t> lot(files.size());
  for (size_t i = 0; i < files.size(); ++i) {
    Fnv1a hash;
    hash.update(std::filesystem::path(files[i]).filename().string());
    // FNV leaves the high bits of similar names alike, the generator does not.
    lot[i] = std::mt19937_64(hash.value() ^ seed)();
  }
  std::vector<size_t> order(files.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return lot[a] < lot[b]; });
  std::vector<bool> is_valid(files.size());
  for (int64_t i = 0; i < kept; ++i) is_valid[order[i]] = true;
  Split split;
  for (size_t i = 0; i < files.size(); ++i) (is_valid[i] ? split.valid : split.train).push_back(files[i]);
  return split;
}

std::pair<TokenRange, TokenRange> split_tokens(int64_t tokens, double valid_share) {
  LACT_CHECK(tokens >= 2, "there are {} tokens to split, expected at least 2", tokens);
  const int64_t border = tokens - part_of(tokens, valid_share);
  return {{0, border}, {border, tokens}};
}

}  // namespace lact::data
