#include "lact/models/common/checkpoint.h"

#include <optional>

#include "lact/base/error.h"
#include "lact/io/pt_reader.h"
#include "lact/io/safetensors.h"

namespace lact::models {

namespace {

using Tensors = std::map<std::string, at::Tensor>;

std::optional<std::string> prefix_of(const std::string& name, const std::string& known) {
  if (!name.ends_with(known)) return std::nullopt;
  const std::string prefix = name.substr(0, name.size() - known.size());
  if (!prefix.empty() && !prefix.ends_with(".")) return std::nullopt;
  return prefix;
}

Tensors below(const std::string& prefix, Tensors tensors) {
  if (prefix.empty()) return tensors;
  Tensors result;
  for (const auto& [name, tensor] : tensors)
    if (name.starts_with(prefix)) result[name.substr(prefix.size())] = tensor;
  return result;
}

}  // namespace

std::map<std::string, at::Tensor> read_checkpoint(const std::string& file, const std::string& known,
                                                  const std::string& kind) {
  std::optional<std::string> prefix;
  const auto look_at = [&](const std::string& name) {
    if (!prefix) prefix = prefix_of(name, known);
  };
  Tensors tensors;
  if (file.ends_with(".safetensors")) {
    tensors = io::read_safetensors(file).tensors;
    for (const auto& [name, tensor] : tensors) look_at(name);
  } else {
    io::read_pt(file, [&](const std::string& name) {
      look_at(name);
      return false;
    });
  }
  LACT_CHECK(prefix, "{}: holds no tensor {}, so it is no {}", file, known, kind);
  if (tensors.empty())
    tensors = io::read_pt(file, [&](const std::string& name) { return name.starts_with(*prefix); });
  return below(*prefix, std::move(tensors));
}

}  // namespace lact::models
