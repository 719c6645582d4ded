// What turns gradients into new weights: AdamW (Adam with decoupled weight decay) for all of them, or Muon
// for the matrices inside of blocks and AdamW for the rest. Parameters and moments are kept in float32 or
// wider, whatever type the model computes in.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lact/parallel/group.h"
#include "lact/train/lent_parameters.h"
#include "lact/train/muon.h"
#include "lact/train/remote_tensors.h"

namespace torch::nn {
class Module;
}

namespace lact::train {

struct AdamWOptions {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.1;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("beta1", beta1, "decay of the mean of gradients");
    field("beta2", beta2, "decay of the mean of squared gradients");
    field("epsilon", epsilon, "added to the root of the mean square");
    field("weight_decay", weight_decay, "decoupled decay of matrices; vectors are not decayed");
  }
  bool operator==(const AdamWOptions&) const = default;

  /// Throws one sentence for values that cannot work.
  void check() const;
};

enum class Rule { adamw, muon };
constexpr std::array<std::pair<Rule, std::string_view>, 2> enum_names(Rule) {
  return {{{Rule::adamw, "adamw"}, {Rule::muon, "muon"}}};
}

struct OptimizerOptions {
  Rule rule = Rule::adamw;
  AdamWOptions adamw = {};  ///< its weight decay is Muon's, too
  MuonOptions muon = {};
};

/// The rate of a parameter of this name, as a multiple of the step's.
using RateFactor = std::function<double(const std::string& parameter)>;

class Optimizer {
 public:
  /// Parameters that need no gradient stay as they are. Without rate_factor all have the same rate.
  /// With `ranks`, which all have the same model and gradients, each keeps the moments of its share of the
  /// parameters and updates these; then it tells the others (ZeRO-1). What is lent has an owner already, who
  /// alone has its gradient (ZeRO-3).
  Optimizer(const torch::nn::Module& model, const OptimizerOptions& options,
            const RateFactor& rate_factor = {}, parallel::Group ranks = {},
            const LentParameters* lent = nullptr);

  void zero_gradients();

  /// The Euclidean norm of all gradients together.
  double gradient_norm() const;
  /// The next step, and the norm until then, see gradients that are multiplied with this; their memory is not
  /// touched.
  void scale_gradients(double factor);

  void step(double rate);

  /// Moments and step count under names that begin with "adam." or "muon."; every rank says which of them it
  /// holds.
  void save(RemoteTensors& tensors) const;
  /// Throws a sentence that names `file` if one is missing or has another shape.
  void load(const std::map<std::string, at::Tensor>& tensors, const std::string& file);

 private:
  struct Slot {
    std::string name;
    at::Tensor parameter;
    double rate_factor;
    Rule rule;
    at::Tensor mean = {};    ///< of gradients
    at::Tensor square = {};  ///< mean of squared gradients; AdamW's alone
    int64_t owner = 0;       ///< the rank that has the moments
    bool lent = false;       ///< and alone has the gradient
  };
  bool owns(const Slot& slot) const { return slot.owner == ranks_.rank(); }
  void share_out(const LentParameters* lent);
  void tell_parameters() const;
  void plain_adamw_step(Slot& slot, double rate) const;
  void adamw_steps(const std::vector<Slot*>& slots, double step_rate) const;
  void muon_step_of(Slot& slot, double rate) const;
  at::Tensor scaled_gradient(const Slot& slot) const;
  static std::string mean_name(const Slot& slot);
  static std::string square_name(const Slot& slot);
  double sum_of_squares(bool lent) const;

  OptimizerOptions options_;
  parallel::Group ranks_;
  std::vector<Slot> slots_;
  int64_t steps_ = 0;
  double gradient_factor_ = 1;
};

}  // namespace lact::train
