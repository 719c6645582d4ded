#include "lact/models/video/state_file.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/base/json_text.h"
#include "lact/base/options.h"
#include "lact/io/safetensors.h"
#include "lact/models/common/state_file.h"

namespace lact::models {

namespace {

const char* const kSamplingKind = "lact video in the making";

/// Everything that remembers, as one state. It owns nothing.
struct SamplingMemories : State {
  std::vector<std::pair<const char*, State*>> parts;

  SamplingMemories(const VideoSampling& sampling, State* decoder) {
    parts.emplace_back("prompt.", sampling.with_prompt.get());
    if (sampling.with_negative) parts.emplace_back("negative.", sampling.with_negative.get());
    if (decoder != nullptr) parts.emplace_back("decoder.", decoder);
  }
  void visit(StateVisitor& visitor, const std::string& prefix) override {
    for (const auto& [name, state] : parts) state->visit(visitor, prefix + name);
  }
  std::unique_ptr<State> clone() const override { return std::make_unique<SamplingMemories>(*this); }
};

/// What the metadata say of a video, strictly.
struct SamplingWords {
  std::string prompt, negative;
  int64_t seed = 0;
  bool guided = false;  ///< a memory goes with the negative text
  SampleOptions options;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("prompt", prompt, "");
    field("negative", negative, "");
    field("seed", seed, "");
    field("guided", guided, "");
    field("options", options, "");
  }
};

SamplingWords read_sampling_words(const std::string& path, const std::string& text) {
  SamplingWords words;
  const auto json = try_parse_json(text);
  LACT_CHECK(json, "{}: metadata \"sampling\" is not JSON", path);
  try {
    options::read(*json, words, "sampling");
    words.options.check();
  } catch (const Error& error) {
    fail("{}: {}", path, error.what());
  }
  return words;
}

void check_sampling(const std::string& path, const VideoSampling& sampling, const ChunkGrid& grid) {
  const VideoState& state = *sampling.with_prompt;
  LACT_CHECK(state.chunks > 0, "{}: holds no chunk", path);
  for (const VideoState* each : {sampling.with_prompt.get(), sampling.with_negative.get()}) {
    if (each == nullptr) continue;
    LACT_CHECK(each->rows == grid.rows && each->columns == grid.columns,
               "{}: a memory of frames of {} x {} patches, expected {} x {}", path, each->rows, each->columns,
               grid.rows, grid.columns);
    LACT_CHECK(each->chunks == state.chunks,
               "{}: the memory with the prompt has {} chunks, the one with the negative text {}", path,
               state.chunks, each->chunks);
  }
}

}  // namespace

void save_sampling(const std::string& path, const VideoSampling& sampling, State* decoder,
                   const std::string& model_hash) {
  LACT_CHECK(sampling.chunks() > 0, "{}: there is nothing to save, no chunk is finished", path);
  SamplingMemories memories(sampling, decoder);
  io::TensorFile file;
  file.tensors = tensors_of(memories);
  const SamplingWords words = {sampling.prompt, sampling.negative, sampling.seed,
                               sampling.with_negative != nullptr, sampling.options};
  file.metadata = {{"kind", kSamplingKind},
                   {"format", "1"},
                   {"model", model_hash},
                   {"chunks", std::to_string(sampling.chunks())},
                   {"sampling", options::write(words).dump()}};
  io::write_safetensors(path, file);
}

VideoSampling load_sampling(const std::string& path, VideoModel& model, State* decoder,
                            const std::string& model_hash) {
  at::NoGradGuard no_grad;
  auto [tensors, metadata] = io::read_safetensors(path);
  check_state_file(path, metadata, {kSamplingKind, "a video in the making", model_hash});
  const SamplingWords words = read_sampling_words(path, metadata["sampling"]);
  StateReader reader(path, std::move(tensors));
  VideoSampling sampling;
  sampling.prompt = words.prompt;
  sampling.negative = words.negative;
  sampling.seed = words.seed;
  sampling.options = words.options;
  sampling.with_prompt = model.initial_state(1);
  if (words.guided) sampling.with_negative = model.initial_state(1);
  SamplingMemories memories(sampling, decoder);
  reader.fill(memories);
  reader.expect_nothing_more("a video of this model in the making");
  check_sampling(path, sampling, model.config().grid());
  return sampling;
}

}  // namespace lact::models
