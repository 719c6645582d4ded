// Other people's checkpoints: a table that says which of our parameters each of their tensors is a view of.
// The same table loads, exports and finds gradients.
#pragma once

#include <torch/nn/module.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

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

  const std::vector<ForeignTensor>& tensors() const { return tensors_; }

 private:
  std::vector<ForeignTensor> tensors_;
};

/// Every parameter of ours as their tensors.
std::map<std::string, at::Tensor> export_foreign(const torch::nn::Module& module, const ForeignNames& names);

/// Whether every parameter of ours is one of theirs, and the other way round.
bool covers(const ForeignNames& names, const torch::nn::Module& module);

/// Our own names, unchanged.
ForeignNames own_names(const torch::nn::Module& module);

/// Copies every tensor into its parameter. Throws, naming `file` and the tensor, if one is missing, unknown,
/// has the wrong shape or holds infinity or NaN, or if a parameter of ours gets no value; nothing is changed
/// then.
void load_foreign(torch::nn::Module& module, const ForeignNames& names,
                  const std::map<std::string, at::Tensor>& tensors, const std::string& file);

/// The same for a new model whose own values are of no use: they are freed before `read` takes memory for the
/// tensors, and tensors that differ only in name become the parameters.
void adopt_foreign(torch::nn::Module& module, const ForeignNames& names, const std::string& file,
                   const std::function<std::map<std::string, at::Tensor>()>& read);

/// 16 hexadecimal digits that differ when any parameter, its name or `config` differs.
std::string fingerprint_of(const torch::nn::Module& module, const std::string& config);

}  // namespace lact::models
