// Other people's checkpoints: a table that says which of our parameters each of their tensors is a view of.
// The same table loads, exports and finds gradients.
#pragma once

#include <torch/nn/module.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lact/base/fnv.h"

namespace lact::models {

struct ForeignTensor {
  std::string foreign;                                     ///< their name
  std::string ours;                                        ///< our parameter
  std::function<at::Tensor(const at::Tensor& ours)> view;  ///< our parameter in their shape
};

class ForeignNames {
 public:
  /// The same tensor under another name.
  void same(const std::string& foreign, const std::string& ours);
  /// Their last two dimensions are the other way round.
  void transposed(const std::string& foreign, const std::string& ours);
  /// Part `index` of `count` equal blocks of our rows, e.g. q of [q; k; v].
  void rows(const std::string& foreign, const std::string& ours, int64_t index, int64_t count);
  /// The same numbers in another shape, e.g. a convolution whose stride is its size for a linear layer.
  void shaped(const std::string& foreign, const std::string& ours, std::vector<int64_t> shape);
  /// weight and, if there is one, bias.
  void linear(const std::string& foreign, const std::string& ours, bool bias);

  /// Adds another table below prefixes such as "blocks.3.".
  void nest(const std::string& foreign_prefix, const std::string& our_prefix, const ForeignNames& inner);

  const std::vector<ForeignTensor>& tensors() const& { return tensors_; }
  std::vector<ForeignTensor> tensors() && { return std::move(tensors_); }

 private:
  std::vector<ForeignTensor> tensors_;
};

/// Every parameter of ours as their tensors.
std::map<std::string, at::Tensor> export_foreign(const torch::nn::Module& module, const ForeignNames& names);

/// Whether every parameter of ours is one of theirs, and the other way round.
bool covers(const ForeignNames& names, const torch::nn::Module& module);

/// Our own names, unchanged.
ForeignNames own_names(const torch::nn::Module& module);

/// Copies every tensor into its parameter, if it is held here. Throws, naming `file` and the tensor, if one
/// is missing, unknown, has the wrong shape or holds infinity or NaN, or if a parameter of ours gets no
/// value; nothing is changed then.
void load_foreign(torch::nn::Module& module, const ForeignNames& names,
                  const std::map<std::string, at::Tensor>& tensors, const std::string& file);

/// Called with a parameter as soon as it has its values, in the file's type. Returns whether the module keeps
/// them in another form from now on, so that there is no such parameter any more.
using TakeOver = std::function<bool(const std::string& name, const at::Tensor& parameter)>;

/// The same for a module without values (nn::make_uninitialised): tensors that differ only in name become the
/// parameters, in the parameter's type; nothing is copied that is not joined or converted. One parameter
/// after the other, and the tensors of one are let go before the next. A module that is left by an exception
/// has only some of its values.
void adopt_foreign(torch::nn::Module& module, const ForeignNames& names, const std::string& file,
                   std::map<std::string, at::Tensor> tensors, const TakeOver& take_over = {});

/// 16 hexadecimal digits that differ when any parameter, its name or the config differs. Parameters are added
/// in the order of named_parameters; one of the file's type counts as it is in its own `type`.
class Fingerprint {
 public:
  explicit Fingerprint(const std::string& config) { hash_.update(config); }
  void add(const std::string& name, const at::Tensor& values, at::ScalarType type = at::kFloat);
  std::string hex() const { return hash_.hex(); }

 private:
  Fnv1a hash_;
};

std::string fingerprint_of(const torch::nn::Module& module, const std::string& config);

}  // namespace lact::models
