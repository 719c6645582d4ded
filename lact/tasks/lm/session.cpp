#include "lact/tasks/lm/session.h"

#include <utility>
#include <vector>

#include "lact/data/text/encode.h"
#include "lact/models/lm/memory_file.h"

namespace lact::tasks::lm {

namespace {

models::LmStream stream_of(const Loaded& lm, const std::string& memory_file) {
  if (memory_file.empty()) return models::LmStream(lm.model);
  return models::load_memory(memory_file, lm.model, fingerprint_of(lm));
}

}  // namespace

uint64_t read_in_chunks(const Loaded& lm, const std::string& file,
                        const std::function<void(std::span<const int64_t>)>& on_chunk,
                        const data::TextFormat& format, int64_t first) {
  // Small pieces of text, so that memory does not depend on the length.
  constexpr data::PieceSizes kPieces = {.usual = 1024};
  const auto chunk = size_t(lm.model->config().chunk_size);
  std::vector<int64_t> pending;
  size_t begun = size_t(first) % chunk;  // of the chunk that is under way
  const auto add = [&](int64_t token) {
    pending.push_back(token);
    if ((pending.size() + begun) % chunk != 0) return;
    begun = 0;
    on_chunk(pending);
    pending.clear();
  };
  bool between = false;
  const auto add_all = [&](const std::vector<int32_t>& tokens) {
    if (std::exchange(between, false)) add(lm.tokenizer->end_of_text());
    for (const int32_t token : tokens) add(token);
  };
  const auto end_document = [&](uint64_t) { between = format.end_of_text; };
  const uint64_t bytes =
      data::encode_file(*lm.tokenizer, file, format.text_field, add_all, end_document, kPieces).bytes;
  on_chunk(pending);
  return bytes;
}

Session::Session(Loaded lm, const std::string& memory_file)
    : lm_(std::move(lm)), stream_(stream_of(lm_, memory_file)) {}

uint64_t Session::read_file(const std::string& file,
                            const std::function<void(std::span<const int64_t>)>& on_read,
                            const data::TextFormat& format) {
  const auto read = [&](std::span<const int64_t> tokens) {
    stream_.read(tokens);
    if (on_read) on_read(tokens);
  };
  const int64_t border = lm_.tokenizer->end_of_text();
  if (position() > 0 && format.end_of_text) read({&border, 1});
  return read_in_chunks(lm_, file, read, format, position());
}

models::Generated Session::write(const std::string& prompt, const models::GenerateOptions& options,
                                 const std::function<void(const std::string&)>& on_bytes) {
  const auto tokens =
      position() > 0 ? lm_.tokenizer->encode_continuation(prompt) : lm_.tokenizer->encode(prompt);
  const std::vector<int64_t> ids(tokens.begin(), tokens.end());
  const auto nothing = [](const std::string&) {};
  return models::generate(stream_, ids, options, vocabulary_of(*lm_.tokenizer),
                          on_bytes ? on_bytes : nothing);
}

void Session::save(const std::string& memory_file) {
  models::save_memory(memory_file, stream_, fingerprint_of(lm_));
}

}  // namespace lact::tasks::lm
