// Named tensors and string metadata in one file, in the safetensors format:
// an 8-byte little-endian header length, a JSON header, the tensors' bytes. A file is not trusted: everything
// that it claims is checked before memory is taken for it.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <string>

namespace lact::io {

struct TensorFile {
  std::map<std::string, at::Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// The tensors are on the CPU and show the file's bytes where they lie (see mapped_file.h): a number is
/// fetched when it is first read, and writing to it changes no file. The pages of a tensor are given back
/// when it dies. Throws lact::Error that names the file, the tensor and the field.
TensorFile read_safetensors(const std::string& path);

/// The metadata alone; the header is checked, no tensor is read.
std::map<std::string, std::string> read_safetensors_metadata(const std::string& path);

/// The numbers of a tensor of which a TensorFile has only shape and type, fetched when they are written.
using TensorContents = std::function<at::Tensor(const std::string& name, const at::Tensor& shape)>;

/// Tensors of any device and strides, in one of the types F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL; written
/// atomically. Equal contents give equal bytes.
void write_safetensors(const std::string& path, const TensorFile& file, const TensorContents& contents = {});

}  // namespace lact::io
