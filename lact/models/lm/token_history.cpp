#include "lact/models/lm/token_history.h"

#include <fmt/format.h>

#include "lact/io/sha256.h"

namespace lact::models {

std::string extended_digest(const std::string& before, std::span<const int64_t> tokens) {
  std::string bytes = before;
  bytes.reserve(before.size() + 8 * tokens.size());
  for (const int64_t token : tokens) {
    for (int shift = 0; shift < 64; shift += 8) bytes += char(uint64_t(token) >> shift & 0xff);
  }
  return io::sha256_hex(bytes);
}

std::string TokenHistory::id() const {
  return tail.empty() && !before.empty() ? before : extended_digest(before, tail);
}

void TokenHistory::close_chunk() {
  before = id();
  tail.clear();
}

TokenHistory unknown_history(int64_t position, const std::string& contents) {
  return {io::sha256_hex(fmt::format("unknown tokens, {} of them: {}", position, contents)), {}};
}

}  // namespace lact::models
