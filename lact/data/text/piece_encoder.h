// Cuts a normalised text into the pieces of a SentencePiece model.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "lact/data/text/sentencepiece_model.h"

namespace lact::data {

/// A part of the text and its piece, which is the unknown one if the model has none for it.
struct FoundPiece {
  std::string_view text;
  int32_t piece;
};

class PieceEncoder {
 public:
  virtual ~PieceEncoder() = default;
  /// `normalized` is valid UTF-8.
  virtual std::vector<FoundPiece> encode(std::string_view normalized) const = 0;
};

/// Merges the pair of neighbours with the highest score until none is left. `model` must outlive the encoder.
std::unique_ptr<PieceEncoder> bpe_encoder(const SentencePieceModel& model);

/// The pieces with the highest sum of scores. `model` must outlive the encoder.
std::unique_ptr<PieceEncoder> unigram_encoder(const SentencePieceModel& model);

}  // namespace lact::data
