// Tensors from a file that PyTorch's torch.save wrote, of any version since 0.1.10. The file is not trusted:
// no code of it runs, and everything that it claims is checked before memory is taken for it.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <string>

namespace lact::io {

/// Decides by its name whether a tensor is read.
using WantedTensor = std::function<bool(const std::string& name)>;

/// Every tensor in the saved dicts and lists, under its keys joined by dots: {"model": {"w": ...}} gives
/// "model.w". Other values are left out. The tensors are dense and own their memory, whatever they
/// shared in the file; together they take at most a few times its bytes. None requires a gradient. Throws
/// lact::Error that names the file and the tensor.
std::map<std::string, at::Tensor> read_pt(const std::string& path, const WantedTensor& wanted = {});

}  // namespace lact::io
