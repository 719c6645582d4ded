#include "lact/models/common/foreign.h"

#include <ATen/ATen.h>

#include <set>

#include "lact/base/error.h"
#include "lact/base/fnv.h"
#include "lact/io/finite.h"

namespace lact::models {

namespace {

/// Lets the parameters be the tensors of a file, where they are the same but for the name. What is left gets
/// memory of its own, which nothing has written yet.
void adopt(torch::nn::Module& model, const ForeignNames& names,
           const std::map<std::string, at::Tensor>& tensors) {
  const auto parameters = model.named_parameters();
  for (const auto& [foreign, ours, view] : names.tensors()) {
    at::Tensor parameter = parameters[ours];
    const auto found = tensors.find(foreign);
    const bool same = found != tensors.end() && view(parameter).is_same(parameter) &&
                      found->second.sizes() == parameter.sizes() &&
                      found->second.scalar_type() == parameter.scalar_type();
    if (same) parameter.set_data(found->second);
  }
  for (const auto& item : parameters) {
    at::Tensor parameter = item.value();
    if (!parameter.is_contiguous()) parameter.set_data(at::empty(parameter.sizes(), parameter.options()));
  }
}

/// Keeps the shapes of the parameters and frees their memory.
void empty_parameters(torch::nn::Module& model) {
  for (at::Tensor parameter : model.parameters()) {
    if (parameter.numel() > 1)
      parameter.set_data(at::zeros({1}, parameter.options()).expand(parameter.sizes()));
  }
}

}  // namespace

void ForeignNames::same(const std::string& foreign, const std::string& ours) {
  tensors_.push_back({foreign, ours, [](const at::Tensor& x) { return x; }});
}

void ForeignNames::transposed(const std::string& foreign, const std::string& ours) {
  tensors_.push_back({foreign, ours, [](const at::Tensor& x) { return x.transpose(-2, -1); }});
}

void ForeignNames::rows(const std::string& foreign, const std::string& ours, int64_t index, int64_t count) {
  tensors_.push_back({foreign, ours, [=](const at::Tensor& x) {
                        const int64_t rows = x.size(0) / count;
                        return x.narrow(0, index * rows, rows);
                      }});
}

void ForeignNames::shaped(const std::string& foreign, const std::string& ours, std::vector<int64_t> shape) {
  tensors_.push_back({foreign, ours, [shape](const at::Tensor& x) { return x.view(shape); }});
}

void ForeignNames::linear(const std::string& foreign, const std::string& ours, bool bias) {
  same(foreign + ".weight", ours + ".weight");
  if (bias) same(foreign + ".bias", ours + ".bias");
}

void ForeignNames::nest(const std::string& foreign_prefix, const std::string& our_prefix,
                        const ForeignNames& inner) {
  for (const auto& tensor : inner.tensors_) {
    tensors_.push_back({foreign_prefix + tensor.foreign, our_prefix + tensor.ours, tensor.view});
  }
}

std::map<std::string, at::Tensor> export_foreign(const torch::nn::Module& module, const ForeignNames& names) {
  const auto parameters = module.named_parameters();
  std::map<std::string, at::Tensor> tensors;
  for (const auto& [foreign, ours, view] : names.tensors()) {
    tensors[foreign] = view(parameters[ours].detach()).contiguous();
  }
  return tensors;
}

bool covers(const ForeignNames& names, const torch::nn::Module& module) {
  std::set<std::string> named, existing;
  for (const auto& tensor : names.tensors()) named.insert(tensor.ours);
  for (const auto& item : module.named_parameters()) existing.insert(item.key());
  return named == existing;
}

ForeignNames own_names(const torch::nn::Module& module) {
  ForeignNames names;
  for (const auto& item : module.named_parameters()) names.same(item.key(), item.key());
  return names;
}

void load_foreign(torch::nn::Module& module, const ForeignNames& names,
                  const std::map<std::string, at::Tensor>& tensors, const std::string& file) {
  at::NoGradGuard no_grad;
  const auto parameters = module.named_parameters();
  std::set<std::string> known, filled;
  std::vector<std::pair<at::Tensor, at::Tensor>> copies;
  for (const auto& [foreign, ours, view] : names.tensors()) {
    const auto found = tensors.find(foreign);
    LACT_CHECK(found != tensors.end(), "{}: tensor {} is missing", file, foreign);
    const at::Tensor* parameter = parameters.find(ours);
    LACT_ASSERT(parameter != nullptr);
    const at::Tensor target = view(*parameter);
    LACT_CHECK(target.sizes() == found->second.sizes(), "{}: tensor {} has shape {}, expected {}", file,
               foreign, found->second.sizes().vec(), target.sizes().vec());
    LACT_CHECK(found->second.is_floating_point(),
               "{}: tensor {} has dtype {}, expected a floating point type", file, foreign,
               toString(found->second.scalar_type()));
    copies.emplace_back(target, found->second);
    known.insert(foreign);
    filled.insert(ours);
  }
  for (const auto& [name, tensor] : tensors) {
    LACT_CHECK(known.count(name) > 0, "{}: tensor {} is not part of this model", file, name);
  }
  for (const auto& item : parameters) LACT_ASSERT(filled.count(item.key()) > 0);
  io::check_finite(tensors, file);
  for (auto& [target, source] : copies) target.copy_(source);
}

void adopt_foreign(torch::nn::Module& module, const ForeignNames& names, const std::string& file,
                   const std::function<std::map<std::string, at::Tensor>()>& read) {
  empty_parameters(module);
  const auto tensors = read();
  adopt(module, names, tensors);
  load_foreign(module, names, tensors, file);
}

std::string fingerprint_of(const torch::nn::Module& module, const std::string& config) {
  Fnv1a hash;
  hash.update(config);
  for (const auto& item : module.named_parameters()) {
    const at::Tensor tensor = item.value().detach().to(at::kCPU).contiguous();
    hash.update(item.key());
    hash.update_words(tensor.data_ptr(), size_t(tensor.numel()) * tensor.element_size());
  }
  return hash.hex();
}

}  // namespace lact::models
