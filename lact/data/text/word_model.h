// A tokenizer for text of a few words that are all known: each is one token. Made without any training, as a
// SentencePiece file, so that a model folder keeps it like any other.
#pragma once

#include <string>
#include <vector>

namespace lact::data {

/// The bytes of a unigram model: unknown, begin and end, then the words in their order, each with the blank
/// before it. Words that come twice count once. Anything else is unknown.
std::string word_model(const std::vector<std::string>& words);

}  // namespace lact::data
