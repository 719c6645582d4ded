#include "lact/models/lm/memory_file.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/io/safetensors.h"
#include "lact/models/common/state_file.h"

namespace lact::models {

namespace {

const char* const kKind = "lact language model memory";
const char* const kLastHidden = "last_hidden";

}  // namespace

void save_memory(const std::string& path, LmStream& stream, const std::string& model_hash) {
  LACT_CHECK(stream.last_hidden().defined(), "{}: there is nothing to remember, nothing was read", path);
  io::TensorFile file;
  file.tensors = tensors_of(stream.state());
  file.tensors[kLastHidden] = stream.last_hidden();
  file.metadata = {
      {"kind", kKind}, {"format", "1"}, {"model", model_hash}, {"tokens", std::to_string(stream.position())}};
  io::write_safetensors(path, file);
}

LmStream load_memory(const std::string& path, std::shared_ptr<LanguageModel> model,
                     const std::string& model_hash) {
  at::NoGradGuard no_grad;
  auto [tensors, metadata] = io::read_safetensors(path);
  check_state_file(path, metadata, {kKind, "a memory of a language model", model_hash});
  StateReader reader(path, std::move(tensors));
  auto state = model->initial_state(1);
  reader.fill(*state);
  const at::Tensor hidden = reader.take(kLastHidden, {model->config().model_dim});
  reader.expect_nothing_more("this model's memory");
  return LmStream(std::move(model), std::move(state), hidden);
}

}  // namespace lact::models
