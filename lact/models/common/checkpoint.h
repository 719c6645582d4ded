// A model's tensors in one file of others: .safetensors, or a .pt file that may hold an optimizer's state and
// more.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>

namespace lact::models {

/// The tensors among which `known` is, without the prefix, such as "model.", that it has in the file; other
/// things are passed over. `kind` is for errors: "view-synthesis model".
std::map<std::string, at::Tensor> read_checkpoint(const std::string& file, const std::string& known,
                                                  const std::string& kind);

}  // namespace lact::models
