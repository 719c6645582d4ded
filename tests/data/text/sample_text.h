// Text and tokenizers for tests: made here, so that no test depends on files from elsewhere.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "lact/data/text/tokenizer.h"
#include "lact/data/text/train_tokenizer.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"

namespace lact::testing {

/// Lines of words with punctuation, digits, accents, runs of blanks and other things that are easy to get
/// wrong.
inline std::string sample_text(int words, unsigned seed = 1) {
  static const std::vector<std::string> kWords = {
      "the",          "weights", "learn",  "while",  "sequence", "read",     "chunk",
      "tokens",       "café",    "naïve",  "größer", "日本",     "語",       "😀",
      "12",           "345.6",   "(fast)", "\"so\"", "-",        "\t",       "\n",
      "\n\n",         "  ",      "   end", "мир",    "привет",   "\xC2\xA0", "x\xE2\x80\x83y",
      "\xE2\x96\x81", "a",       "I",      "don't"};
  static const std::vector<std::string> kSyllables = {"ba",  "con", "di",  "el",  "fra", "gu", "hi",
                                                      "jor", "ki",  "lum", "men", "no",  "or", "pra",
                                                      "qui", "ra",  "sto", "tem", "ul",  "vi"};
  std::mt19937 random(seed);
  std::string text;
  for (int i = 0; i < words; ++i) {
    if (random() % 2 == 0) {
      text += kWords[random() % kWords.size()];
    } else {
      for (int k = 1 + random() % 3; k > 0; --k) text += kSyllables[random() % kSyllables.size()];
    }
    text += random() % 12 == 0 ? "\n" : " ";
  }
  return text;
}

inline std::unique_ptr<data::Tokenizer> train_sample(data::PieceModel type, bool byte_fallback = true,
                                                     int64_t vocabulary_size = 400) {
  const TemporaryFolder folder;
  write_file(folder / "text.txt", sample_text(20000));
  data::TrainTokenizerOptions options;
  options.files = {folder / "text.txt"};
  options.output = folder / "sample.model";
  options.pieces.vocabulary_size = vocabulary_size;
  options.pieces.model_type = type;
  options.pieces.byte_fallback = byte_fallback;
  data::train_sentencepiece(options);
  return data::sentencepiece_tokenizer(options.output);
}

}  // namespace lact::testing
