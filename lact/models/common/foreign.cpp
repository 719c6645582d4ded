#include "lact/models/common/foreign.h"

#include <ATen/ATen.h>

#include <set>
#include <utility>

#include "lact/base/error.h"
#include "lact/io/finite.h"
#include "lact/nn/loan.h"
#include "lact/ops/linear/large_pages.h"

namespace lact::models {

namespace {

using Tensors = std::map<std::string, at::Tensor>;

/// A tensor of a file and where its numbers go in a parameter.
struct Piece {
  std::string foreign;
  std::function<at::Tensor(const at::Tensor&)> view;
  at::Tensor source;
};

/// A parameter and all that fills it.
struct Filled {
  std::string name;
  at::Tensor parameter;
  std::vector<Piece> pieces;
};

/// In the order of the parameters. Throws, naming `file` and the tensor, if one is missing, unknown or does
/// not fit.
std::vector<Filled> match(torch::nn::Module& module, const ForeignNames& names, Tensors tensors,
                          const std::string& file) {
  const auto parameters = module.named_parameters();
  std::map<std::string, std::vector<Piece>> pieces;
  std::set<std::string> known;
  for (const auto& [foreign, ours, view] : names.tensors()) {
    const auto found = tensors.find(foreign);
    LACT_CHECK(found != tensors.end(), "{}: tensor {} is missing", file, foreign);
    const at::Tensor* parameter = parameters.find(ours);
    LACT_ASSERT(parameter != nullptr);
    const auto expected = view(parameter->detach()).sizes().vec();
    LACT_CHECK(found->second.sizes() == expected, "{}: tensor {} has shape {}, expected {}", file, foreign,
               found->second.sizes().vec(), expected);
    LACT_CHECK(found->second.is_floating_point(),
               "{}: tensor {} has dtype {}, expected a floating point type", file, foreign,
               toString(found->second.scalar_type()));
    pieces[ours].push_back({foreign, view, found->second});
    known.insert(foreign);
  }
  for (const auto& [name, tensor] : tensors) {
    LACT_CHECK(known.count(name) > 0, "{}: tensor {} is not part of this model", file, name);
  }
  std::vector<Filled> filled;
  for (const auto& item : parameters) {
    LACT_ASSERT(pieces.count(item.key()) > 0);
    filled.push_back({item.key(), item.value(), std::move(pieces[item.key()])});
  }
  return filled;
}

/// The numbers of the pieces in the shape of the parameter: a tensor of the file itself where it differs only
/// in its name, otherwise a new one.
at::Tensor joined(const at::Tensor& parameter, std::vector<Piece> pieces) {
  const at::Tensor shape = parameter.detach();
  if (pieces.size() == 1 && pieces[0].view(shape).is_same(shape)) return pieces[0].source;
  at::ScalarType type = pieces[0].source.scalar_type();
  for (const auto& piece : pieces) type = c10::promoteTypes(type, piece.source.scalar_type());
  const at::Tensor whole = ops::empty_in_large_pages(shape.sizes(), type);
  for (auto& [foreign, view, source] : pieces) {
    view(whole).copy_(source);
    source = at::Tensor();
  }
  return whole;
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
  const auto filled = match(module, names, tensors, file);
  io::check_finite(tensors, file);
  for (const auto& [name, parameter, pieces] : filled) {
    if (!nn::is_held(parameter)) continue;
    for (const auto& piece : pieces) piece.view(parameter).copy_(piece.source);
  }
}

void adopt_foreign(torch::nn::Module& module, const ForeignNames& names, const std::string& file,
                   std::map<std::string, at::Tensor> tensors, const TakeOver& take_over) {
  at::NoGradGuard no_grad;
  std::vector<Filled> all = match(module, names, std::move(tensors), file);
  for (Filled& next : all) {
    // What is not kept must not live on in the list.
    auto [name, parameter, pieces] = std::exchange(next, {});
    if (!nn::is_held(parameter)) continue;
    const at::ScalarType type = parameter.scalar_type();
    for (const auto& piece : pieces) io::check_finite({{piece.foreign, piece.source}}, file);
    parameter.set_data(joined(parameter, std::exchange(pieces, {})));
    if (take_over && take_over(name, parameter)) continue;
    if (parameter.scalar_type() != type) parameter.set_data(parameter.detach().to(type));
  }
}

void Fingerprint::add(const std::string& name, const at::Tensor& values, at::ScalarType type) {
  // Piece by piece: a conversion of all of it would be a second copy.
  constexpr int64_t kAtOnce = int64_t(1) << 20;
  hash_.update(name);
  const at::Tensor flat = values.detach().to(at::kCPU).contiguous().flatten();
  for (int64_t first = 0; first < flat.numel(); first += kAtOnce) {
    const at::Tensor piece = flat.narrow(0, first, std::min(kAtOnce, flat.numel() - first)).to(type);
    hash_.update_words(piece.data_ptr(), size_t(piece.numel()) * piece.element_size());
  }
}

std::string fingerprint_of(const torch::nn::Module& module, const std::string& config) {
  Fingerprint fingerprint(config);
  for (const auto& item : module.named_parameters()) {
    fingerprint.add(item.key(), item.value(), item.value().scalar_type());
  }
  return fingerprint.hex();
}

}  // namespace lact::models
