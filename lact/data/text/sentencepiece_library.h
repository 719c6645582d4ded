// The system's SentencePiece library, opened when a model is trained. It carries a copy of protobuf 3.14
// whose symbols are those of the newer protobuf that LibTorch links: with both linked, the program crashes.
// Opened in a scope of its own, the library finds its own copy.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>

namespace lact::data {

/// Throws lact::Error if the library is not installed or cannot be used.
void load_sentencepiece();

/// Replaces its argument by the next sentence; false at the end.
using NextSentence = std::function<bool(std::string&)>;

struct TrainedModel {
  std::string bytes;    ///< of the model file
  std::string mistake;  ///< SentencePiece's own words; "" if all went well
};

/// Calls SentencePieceTrainer::Train with these settings. What `next` throws passes through.
TrainedModel train_with_sentencepiece(const std::unordered_map<std::string, std::string>& settings,
                                      const NextSentence& next);

}  // namespace lact::data
