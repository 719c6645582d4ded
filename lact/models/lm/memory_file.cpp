#include "lact/models/lm/memory_file.h"

#include <ATen/ATen.h>

#include <set>

#include "lact/base/error.h"
#include "lact/io/safetensors.h"

namespace lact::models {

namespace {

const char* const kKind = "lact language model memory";
const char* const kLastHidden = "last_hidden";

struct Collect : StateVisitor {
  io::TensorFile& file;
  explicit Collect(io::TensorFile& target) : file(target) {}
  void tensor(const std::string& name, at::Tensor& value, int64_t) override {
    file.tensors[name] = value.detach().contiguous();
  }
  void number(const std::string& name, int64_t& value) override {
    file.tensors[name] = at::full({1}, value, at::kLong);
  }
};

/// Fills a fresh state, whose shapes say what to expect.
struct Fill : StateVisitor {
  const std::string& path;
  std::map<std::string, at::Tensor> tensors;
  std::set<std::string> used;
  Fill(const std::string& file, std::map<std::string, at::Tensor> source)
      : path(file), tensors(std::move(source)) {}

  const at::Tensor& find(const std::string& name) {
    const auto found = tensors.find(name);
    LACT_CHECK(found != tensors.end(), "{}: tensor {} is missing", path, name);
    used.insert(name);
    return found->second;
  }
  void tensor(const std::string& name, at::Tensor& value, int64_t token_dim) override {
    const at::Tensor& read = find(name);
    std::vector<int64_t> expected = value.sizes().vec();
    if (token_dim >= 0 && read.dim() == value.dim()) expected[size_t(token_dim)] = read.size(token_dim);
    LACT_CHECK(read.sizes() == expected, "{}: tensor {} has shape {}, expected {}", path, name,
               read.sizes().vec(), expected);
    LACT_CHECK(read.is_floating_point() && at::isfinite(read).all().item<bool>(),
               "{}: tensor {} is not made of finite numbers", path, name);
    value = read.to(value.options());
  }
  void number(const std::string& name, int64_t& value) override {
    const at::Tensor& read = find(name);
    LACT_CHECK(read.scalar_type() == at::kLong && read.numel() == 1 && read.item<int64_t>() >= 0,
               "{}: {} is not a count", path, name);
    value = read.item<int64_t>();
  }
};

}  // namespace

void save_memory(const std::string& path, LmStream& stream, const std::string& model_hash) {
  LACT_CHECK(stream.last_hidden().defined(), "{}: there is nothing to remember, nothing was read", path);
  io::TensorFile file;
  Collect collect(file);
  stream.state().visit(collect, "");
  file.tensors[kLastHidden] = stream.last_hidden();
  file.metadata = {
      {"kind", kKind}, {"format", "1"}, {"model", model_hash}, {"tokens", std::to_string(stream.position())}};
  io::write_safetensors(path, file);
}

LmStream load_memory(const std::string& path, std::shared_ptr<LanguageModel> model,
                     const std::string& model_hash) {
  at::NoGradGuard no_grad;
  auto [tensors, metadata] = io::read_safetensors(path);
  LACT_CHECK(metadata["kind"] == kKind, "{}: is not a memory of a language model", path);
  LACT_CHECK(metadata["format"] == "1", "{}: has format {}, expected 1", path, metadata["format"]);
  LACT_CHECK(metadata["model"] == model_hash,
             "{}: was made by another model ({}), expected one by this model ({})", path, metadata["model"],
             model_hash);
  Fill fill(path, std::move(tensors));
  auto state = model->initial_state(1);
  state->visit(fill, "");
  const at::Tensor hidden = fill.find(kLastHidden);
  LACT_CHECK(hidden.dim() == 1 && hidden.size(0) == model->config().model_dim && hidden.is_floating_point() &&
                 at::isfinite(hidden).all().item<bool>(),
             "{}: tensor {} has shape {}, expected [{}] of finite numbers", path, kLastHidden,
             hidden.sizes().vec(), model->config().model_dim);
  for (const auto& [name, tensor] : fill.tensors) {
    LACT_CHECK(fill.used.count(name) > 0, "{}: tensor {} is not part of this model's memory", path, name);
  }
  return LmStream(std::move(model), std::move(state), hidden);
}

}  // namespace lact::models
