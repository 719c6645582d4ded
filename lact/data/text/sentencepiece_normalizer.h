// What a SentencePiece model does to a text before it looks for pieces: characters are replaced by the
// model's compiled rules, blanks are marked, and one may be put before the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lact/data/text/sentencepiece_model.h"

namespace lact::data {

class SentencePieceNormalizer {
 public:
  /// `model` must outlive the normaliser; `name` is used in errors.
  SentencePieceNormalizer(const SentencePieceModel& model, const std::string& name);

  std::string normalize(std::string_view text) const { return run(text, false); }
  /// Of text behind other text that does not end with a blank.
  std::string normalize_continuation(std::string_view text) const { return run(text, true); }

 private:
  std::string run(std::string_view text, bool continues) const;
  struct Replaced {
    std::string_view text;
    size_t consumed;  // bytes of the original
  };
  Replaced first(std::string_view text) const;
  Replaced longest_rule(std::string_view text) const;

  const SentencePieceModel& model_;
  std::vector<uint32_t> trie_;     // double array: the left sides of the rules
  std::string_view replacements_;  // the right sides, each ended by a NUL
};

}  // namespace lact::data
