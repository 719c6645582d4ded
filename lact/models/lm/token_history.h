// Which tokens a text has: those since the last chunk boundary themselves, those before as a digest. So equal
// texts are known to be equal, and where one leaves another inside of a chunk, without keeping a long text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lact::models {

struct TokenHistory {
  std::string before;         ///< digest of all tokens before `tail`; "" for none
  std::vector<int64_t> tail;  ///< the tokens since

  /// Of all tokens: equal for equal texts of one model, whatever pieces they were read in.
  std::string id() const;

  void add(std::span<const int64_t> tokens) { tail.insert(tail.end(), tokens.begin(), tokens.end()); }
  void forget_last(int64_t tokens) { tail.resize(tail.size() - size_t(tokens)); }
  /// At the end of a chunk: the tail is told apart no more.
  void close_chunk();
};

/// The digest of a text whose first tokens have the digest `before`: chunk after chunk, each on that of the
/// chunks before it.
std::string extended_digest(const std::string& before, std::span<const int64_t> tokens);

/// The history of a state whose tokens are not known: told apart by what it remembers.
TokenHistory unknown_history(int64_t position, const std::string& contents);

}  // namespace lact::models
