#include "lact/models/lm/memory_file.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/io/safetensors.h"
#include "lact/io/sha256.h"
#include "lact/models/common/state_file.h"

namespace lact::models {

namespace {

const char* const kKind = "lact language model memory";
const char* const kLastHidden = "last_hidden";
const char* const kBoundaryHidden = "boundary_hidden";
const char* const kTail = "tail";
const char* const kHistory = "history";  // metadata: the digest of the tokens before the tail

using Metadata = std::map<std::string, std::string>;

/// Files of earlier versions do not say what was read.
bool has_history(const Metadata& metadata) { return metadata.count(kHistory) > 0; }

TokenHistory history_of(const std::string& path, const Metadata& metadata, const at::Tensor& tail,
                        int64_t position, const LmConfig& config) {
  LACT_CHECK(
      tail.scalar_type() == at::kLong && tail.dim() == 1 && tail.numel() <= position % config.chunk_size,
      "{}: {} has shape {} and type {}, expected at most {} numbers of int64", path, kTail,
      tail.sizes().vec(), toString(tail.scalar_type()), position % config.chunk_size);
  TokenHistory history = {metadata.at(kHistory), {}};
  history.add({tail.data_ptr<int64_t>(), size_t(tail.numel())});
  for (const int64_t token : history.tail) {
    LACT_CHECK(token >= 0 && token < config.vocabulary_size,
               "{}: {} has token {}, expected one below the vocabulary of {}", path, kTail, token,
               config.vocabulary_size);
  }
  const bool known = tail.numel() == position ? history.before.empty() : io::is_sha256_hex(history.before);
  LACT_CHECK(known, "{}: {} is \"{}\", which is no digest of the tokens before the last {}", path, kHistory,
             history.before, tail.numel());
  return history;
}

}  // namespace

void save_memory(const std::string& path, LmStream& stream, const std::string& model_hash) {
  LACT_CHECK(stream.position() > 0, "{}: there is nothing to remember, nothing was read", path);
  io::TensorFile file;
  file.tensors = tensors_of(stream.state());
  file.tensors[kLastHidden] = stream.last_hidden();
  const TextMemory& memory = stream.memory();
  if (memory.boundary_hidden.defined()) file.tensors[kBoundaryHidden] = memory.boundary_hidden;
  file.tensors[kTail] = at::tensor(at::ArrayRef<int64_t>(memory.history.tail), at::kLong);
  file.metadata = {{"kind", kKind},
                   {"format", "1"},
                   {"model", model_hash},
                   {"tokens", std::to_string(stream.position())},
                   {kHistory, memory.history.before}};
  io::write_safetensors(path, file);
}

LmStream load_memory(const std::string& path, std::shared_ptr<LanguageModel> model,
                     const std::string& model_hash) {
  at::NoGradGuard no_grad;
  auto [tensors, metadata] = io::read_safetensors(path);
  check_state_file(path, metadata, {kKind, "a memory of a language model", model_hash});
  const bool with_boundary = tensors.count(kBoundaryHidden) > 0;
  StateReader reader(path, std::move(tensors));
  auto state = model->initial_state(1);
  reader.fill(*state);
  LACT_CHECK(state->forgettable() >= 0, "{}: a convolution's tail is shorter than what it sees", path);
  const std::vector<int64_t> width = {model->config().model_dim};
  const at::Tensor hidden = reader.take(kLastHidden, width);
  if (!has_history(metadata)) {
    reader.expect_nothing_more("this model's memory");
    return LmStream(std::move(model), std::move(state), hidden);
  }
  TextMemory memory;
  memory.history = history_of(path, metadata, reader.find(kTail), state->position, model->config());
  memory.last_hidden = hidden;
  if (with_boundary) memory.boundary_hidden = reader.take(kBoundaryHidden, width);
  memory.state = std::move(state);
  reader.expect_nothing_more("this model's memory");
  return LmStream(std::move(model), std::move(memory));
}

MemoryFileLabel read_memory_label(const std::string& path, const LanguageModel& model,
                                  const std::string& model_hash) {
  const auto [tensors, metadata] = io::read_safetensors(path);
  check_state_file(path, metadata, {kKind, "a memory of a language model", model_hash});
  LACT_CHECK(has_history(metadata), "{}: does not say which tokens were read", path);
  StateReader reader(path, tensors);
  LmState state;  // no blocks: its own fields alone
  reader.fill(state);
  return {history_of(path, metadata, reader.find(kTail), state.position, model.config()), state.position};
}

}  // namespace lact::models
