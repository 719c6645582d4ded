#include "lact/models/common/checkpoint_file.h"

#include "lact/base/error.h"
#include "lact/io/pt_reader.h"
#include "lact/io/safetensors.h"

namespace lact::models {

namespace {

using Tensors = std::map<std::string, at::Tensor>;

/// The tensors below one prefix, such as the "model." of a training checkpoint, without it.
Tensors tensors_below(const std::string& prefix, const Tensors& tensors) {
  Tensors result;
  for (const auto& [name, tensor] : tensors)
    if (name.starts_with(prefix)) result[name.substr(prefix.size())] = tensor;
  return result;
}

}  // namespace

Tensors read_checkpoint_file(const std::string& file, const std::string& known_tensor,
                             const std::string& what) {
  if (file.ends_with(".safetensors")) return io::read_safetensors(file).tensors;
  std::string prefix;
  bool found = false;
  io::read_pt(file, [&](const std::string& name) {
    const bool whole_name = name == known_tensor || name.ends_with("." + known_tensor);
    if (!found && whole_name) {
      prefix = name.substr(0, name.size() - known_tensor.size());
      found = true;
    }
    return false;
  });
  LACT_CHECK(found, "{}: holds no tensor {}, so it is no {}", file, known_tensor, what);
  return tensors_below(prefix,
                       io::read_pt(file, [&](const std::string& name) { return name.starts_with(prefix); }));
}

}  // namespace lact::models
