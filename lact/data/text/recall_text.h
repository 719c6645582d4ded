// The embedded default data: word-like text in which facts are told once and asked for long afterwards.
//
//   ... note tovul Mirado note bremi Kesali ... the old harbour . ... Mirado tovul Kesali bremi ...
//
// "note" tells which thing belongs to a name; from then on the name may come up, and its thing has to follow.
//
// Names and things are bound anew in each document, so that nothing can be known by heart: an answer is
// remembered from where it was told, or not at all. Generated from a seed, without end and without a
// download.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "lact/data/text/token_source.h"
#include "lact/data/text/tokenizer.h"

namespace lact::data {

struct RecallTextOptions {
  int64_t names = 32;
  int64_t things = 16;
  int64_t facts = 16;
  double filler = 0.02;
  bool vary = false;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("names", names, "different names; a document uses each at most once");
    field("things", things, "different answers; chance is one in so many");
    field("facts", facts, "facts that a document tells at most");
    field("filler", filler, "share of sentences that tell and ask nothing");
    field("vary", vary, "documents tell between 2 and `facts` facts, so that some are easy");
  }
  bool operator==(const RecallTextOptions&) const = default;

  void check() const;
};

struct RecallText {
  std::vector<std::string> words;  ///< joined by blanks they are the text
  struct Answer {
    int64_t word;       ///< the answer's place
    int64_t mentioned;  ///< where it stood last: where the fact was told, or asked for before
  };
  std::vector<Answer> answers;

  std::string text() const;
};

/// A document of at least `words` words. Questions choose evenly among the facts told so far.
RecallText recall_text(const RecallTextOptions& options, uint64_t seed, int64_t words);

/// Every word that such a text may hold, each once.
std::vector<std::string> recall_words(const RecallTextOptions& options);

/// Text for training a tokenizer: every word occurs often.
std::string recall_sample(const RecallTextOptions& options, uint64_t seed, int64_t words);

/// A document as tokens.
struct RecallTokens {
  std::vector<int64_t> tokens;
  struct Answer {
    int64_t begin, end;  ///< the answer's tokens
    int64_t distance;    ///< tokens since it was mentioned last
  };
  std::vector<Answer> answers;
};

/// Turns documents into tokens word by word, each word once; `tokenizer` must outlive it.
class RecallEncoder {
 public:
  RecallEncoder(const Tokenizer& tokenizer, const RecallTextOptions& options);

  /// The first `length` tokens of the document of this seed.
  RecallTokens document(uint64_t seed, int64_t length) const;

 private:
  const Tokenizer& tokenizer_;
  RecallTextOptions options_;
  std::unordered_map<std::string, std::vector<int32_t>> tokens_;  ///< of each word behind a blank
};

/// Endless sequences, one document each.
std::unique_ptr<TokenSource> recall_sequences(const Tokenizer& tokenizer, const RecallTextOptions& options,
                                              uint64_t seed);

}  // namespace lact::data
