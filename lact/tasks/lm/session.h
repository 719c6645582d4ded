// A text that goes on: what a language model remembers of everything read so far, read on, continued and
// saved. The memory's size does not depend on the length.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "lact/data/text/text_format.h"
#include "lact/models/lm/generate.h"
#include "lact/tasks/lm/load.h"

namespace lact::tasks::lm {

/// Gives the tokens of a text file of any size to `on_chunk`, up to the end of a chunk of the model at a
/// time, where `first` tokens were read before; returns the bytes of the text. The end-of-text token stands
/// between the documents of the file.
uint64_t read_in_chunks(const Loaded& lm, const std::string& file,
                        const std::function<void(std::span<const int64_t>)>& on_chunk,
                        const data::TextFormat& format = {}, int64_t first = 0);

class Session {
 public:
  /// Remembers nothing, or what a memory file holds. Throws a sentence if that is of another model.
  explicit Session(Loaded lm, const std::string& memory_file = "");

  /// Reads a text file of any size in constant memory; an end-of-text token separates it from what was read
  /// before, unless the format says otherwise. `on_read` gets the tokens after they were read. Returns the
  /// bytes of the text.
  uint64_t read_file(const std::string& file,
                     const std::function<void(std::span<const int64_t>)>& on_read = {},
                     const data::TextFormat& format = {});

  /// Reads a prompt, perhaps an empty one, and goes on writing. `on_bytes` gets the text as it is written.
  models::Generated write(const std::string& prompt, const models::GenerateOptions& options,
                          const std::function<void(const std::string&)>& on_bytes = {});

  /// A memory file, written whole or not at all.
  void save(const std::string& memory_file);

  int64_t position() const { return stream_.position(); }  ///< tokens read
  int64_t memory_bytes() { return models::state_bytes(stream_.state()); }
  models::LmStream& stream() { return stream_; }

 private:
  Loaded lm_;
  models::LmStream stream_;
};

}  // namespace lact::tasks::lm
