// What a text has left behind at one moment: immutable, and shared by whoever continues from it. Two texts
// that continue one state share its memory until each of them writes to its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lact/models/lm/stream.h"
#include "lact/tasks/lm/load.h"

namespace lact::tasks::lm {

struct Snapshot {
  std::string id;             ///< a digest of all tokens read: equal for equal texts of one model
  models::TextMemory memory;  ///< never advanced, only cloned
  std::shared_ptr<models::LanguageModel> model;

  int64_t position() const { return memory.position(); }                    ///< tokens read
  const std::vector<int64_t>& tail() const { return memory.history.tail; }  ///< since the chunk began
  int64_t boundary() const {
    return position() - int64_t(memory.history.tail.size());
  }  ///< where the tail begins
  int64_t bytes() const { return memory.bytes(); }
};
using TextState = std::shared_ptr<const Snapshot>;

/// The state of a stream as it is now; the stream may go on.
TextState snapshot(const models::LmStream& stream, const Loaded& lm);

/// A stream that continues from it, or begins a text if there is none.
models::LmStream stream_from(const TextState& state, const Loaded& lm);

/// The same, to be kept (TextMemory::is_compact); itself if it is that already.
TextState compacted(const TextState& state);

/// A memory file, as `lact lm generate --memory` and Session read and write them.
void save_text_state(const std::string& path, const TextState& state, const Loaded& lm);
TextState load_text_state(const std::string& path, const Loaded& lm);

/// How many of the last tokens rolled_back can forget.
int64_t forgettable(const TextState& state, const Loaded& lm);

/// As if the last `tokens` had never been read. Free inside of a chunk; a model with recurrences reads the
/// rest of the chunk again. Throws a sentence for more than that: an earlier state has to be kept for it
/// (state_store.h).
TextState rolled_back(const TextState& state, int64_t tokens, const Loaded& lm);

}  // namespace lact::tasks::lm
