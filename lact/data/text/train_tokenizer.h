// Makes a SentencePiece model from text.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lact/data/text/text_format.h"

namespace lact::data {

enum class PieceModel { bpe, unigram };
inline auto enum_names(PieceModel) {
  return std::array{std::pair{PieceModel::bpe, std::string_view("bpe")},
                    std::pair{PieceModel::unigram, std::string_view("unigram")}};
}

struct PieceOptions {
  int64_t vocabulary_size = 4096;
  PieceModel model_type = PieceModel::bpe;
  bool byte_fallback = true;
  double character_coverage = 0.9995;
  int64_t max_sentences = 1000000;
  bool split_digits = true;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("vocabulary_size", vocabulary_size, "number of pieces, with special and byte pieces");
    field("model_type", model_type, "how pieces are found: bpe or unigram");
    field("byte_fallback", byte_fallback, "write unknown characters as bytes, so that every text survives");
    field("character_coverage", character_coverage, "share of the text whose characters become pieces");
    field("max_sentences", max_sentences, "train on so many lines, chosen at random; 0: all");
    field("split_digits", split_digits, "each digit is a piece of its own");
  }
};

struct TrainTokenizerOptions {
  std::vector<std::string> files;  ///< see find_text_files
  TextFormat format;               ///< documents are not told apart: only the text field counts
  std::string output;              ///< the model file to write
  PieceOptions pieces;
};

/// Lines are sentences, so no piece holds a newline; byte fallback, or else a symbol of its own, stands for
/// it. Unknown is 0, begin 1, end 2. The same text gives the same model. Of more than 128 MB of text,
/// unpacked, so much is taken, chosen at random line by line. Needs SentencePiece's program.
void train_sentencepiece(const TrainTokenizerOptions& options);

/// Why no tokenizer can be trained on this machine; "" if one can.
std::string why_no_training();

}  // namespace lact::data
