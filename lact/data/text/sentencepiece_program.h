// Trains with SentencePiece's own program, spm_train. (Its library, linked or opened, brings a copy of
// protobuf that collides with LibTorch's, and stops the whole process at some mistakes.)
#pragma once

#include <functional>
#include <map>
#include <string>

namespace lact::data {

/// Gives the next sentence, which holds no newline; false after the last.
using NextSentence = std::function<bool(std::string&)>;

struct TrainedModel {
  std::string bytes;
  std::string mistake;  ///< what the program said, in one line, where it made no model
};

/// `settings` are the program's options by name. The same sentences give the same model. All sentences are in
/// memory at once.
TrainedModel train_with_sentencepiece(const std::map<std::string, std::string>& settings,
                                      const NextSentence& next);

/// Why no tokenizer can be trained on this machine; "" if one can.
std::string why_no_sentencepiece();

}  // namespace lact::data
