// The tensors of one published checkpoint file, .safetensors or PyTorch's .pt and .pth.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>

namespace lact::models {

/// A PyTorch file may hold the model at its top or below a name, beside other things: the tensors beside and
/// below `known_tensor`, which every such model has. Throws, naming the file, if it holds no such tensor, so
/// that it is no `what`.
std::map<std::string, at::Tensor> read_checkpoint_file(const std::string& file,
                                                       const std::string& known_tensor,
                                                       const std::string& what);

}  // namespace lact::models
