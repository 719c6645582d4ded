// One run of a case in one precision: hands out inputs, compares results, and keeps account of every stored
// tensor, so that nothing passes by not being looked at.
#pragma once

#include <torch/nn/module.h>

#include <map>
#include <set>

#include "lact/golden/case.h"
#include "lact/models/common/foreign.h"

namespace lact::golden {

/// Largest error of a group of tensors, relative to each tensor's largest element.
struct Worst {
  double error = 0;
  bool checked = false;
};

struct Report {
  std::string name, kind, precision;
  Worst outputs, state, gradients;
  double tolerance = 0;      ///< of the tensor that came closest to its limit
  std::string worst_tensor;  ///< that tensor
  double worst_share = 0;    ///< its error / its tolerance
  std::string failure;       ///< empty if everything is within its tolerance
  bool computed = true;      ///< false if this build has no function for the kind
  bool passed() const { return computed && failure.empty(); }
  bool failed() const { return !failure.empty(); }
};

class Run {
 public:
  /// In bfloat16 inputs stay float32 and kinds round the tokens; the stored tolerances are for float32, so
  /// `bound` takes their place: |result - stored|_2 / |stored|_2 of every tensor that is well conditioned.
  Run(const Case& source, at::ScalarType precision, double bound = 0);

  at::ScalarType precision() const { return precision_; }

  /// A copy of the case's options; kinds remove what they interpret themselves and read the rest strictly.
  options::Json options() const;
  const options::Json& description() const { return case_.description; }

  bool has(const std::string& name) const { return case_.tensors.count(name) > 0; }

  /// A stored tensor in this run's precision (integers as they are), as a leaf whose gradient is checked if
  /// it is stored.
  at::Tensor input(const std::string& name);

  /// Converts the module to this run's precision and gives it the stored "param." tensors.
  void load(torch::nn::Module& module, const models::ForeignNames& names);

  /// Converts a module that has its parameters already; their gradients are compared under these names.
  void use(torch::nn::Module& module, const models::ForeignNames& names);

  /// The folder of the case, where a model's own files lie.
  std::string folder() const;

  /// Compares with the stored tensor; names ending in _final count as state.
  void expect(const std::string& name, const at::Tensor& result);

  /// The same for a few elements of the stored tensor `whole`, relative to its largest element: rounding may
  /// have moved small ones further than their own size allows.
  void expect_part(const std::string& name, const at::Tensor& result, const std::string& whole);

  /// loss = sum(output * r), compared with the stored loss; then every stored gradient.
  void expect_loss_and_gradients(const at::Tensor& output);

  /// The same for several outputs, stored as "output." and weighted with "r." and their names.
  void expect_loss_and_gradients(const std::map<std::string, at::Tensor>& outputs);

  /// The same for a loss that is computed in another way.
  void expect_gradients_of(const at::Tensor& loss);

  /// A stored tensor that repeats another one or is there for information.
  void ignore(const std::string& name) { seen_.insert(name); }

  /// Fails if a stored tensor was neither used nor compared.
  Report finish();

 private:
  const at::Tensor& stored(const std::string& name);
  void compare(Worst& group, const std::string& name, const at::Tensor& result);
  void compare_loss(const at::Tensor& terms, const std::string& output);
  void compare(Worst& group, const std::string& name, double error, double tolerance);

  const Case& case_;
  at::ScalarType precision_;
  double bound_;
  Report report_;
  std::set<std::string> seen_;
  std::map<std::string, at::Tensor> leaves_;
  torch::nn::Module* module_ = nullptr;
  models::ForeignNames names_;
};

}  // namespace lact::golden
