// A text in fast weights, as a file: everything a model remembers of what it read. Its size does not depend
// on the length read.
#pragma once

#include <string>

#include "lact/models/lm/stream.h"

namespace lact::models {

/// `model_hash` is fingerprint(model).
void save_memory(const std::string& path, LmStream& stream, const std::string& model_hash);

/// Throws a sentence if the file is not a memory, belongs to another model, or does not fit.
LmStream load_memory(const std::string& path, std::shared_ptr<LanguageModel> model,
                     const std::string& model_hash);

/// What a file says of its text before anything of it is read: for whoever looks for one among many.
struct MemoryFileLabel {
  TokenHistory history;
  int64_t position = 0;
};
MemoryFileLabel read_memory_label(const std::string& path, const LanguageModel& model,
                                  const std::string& model_hash);

}  // namespace lact::models
