// Made-up tales in plain English. A tale is about the people of a village: who somebody is, where they live,
// what they own, what they call their dog is drawn anew in each, told once and mentioned again hundreds of
// words later. What a sentence says of somebody met long ago can be foretold by whoever remembers, and by
// nobody else. Generated from a seed, without end and without a download.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "lact/data/text/token_source.h"
#include "lact/data/text/tokenizer.h"

namespace lact::data {

struct TalesOptions {
  int64_t people = 12;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("people", people, "people of the largest villages; a tale is about 3 to so many of them");
  }
  bool operator==(const TalesOptions&) const = default;

  void check() const;
};

/// A tale of at least `words` words, in paragraphs. Tales of one seed begin alike, however long they are.
std::string tale(const TalesOptions& options, uint64_t seed, int64_t words);

/// Endless sequences, one tale each, from its beginning.
std::unique_ptr<TokenSource> tale_sequences(const Tokenizer& tokenizer, const TalesOptions& options,
                                            uint64_t seed);

}  // namespace lact::data
