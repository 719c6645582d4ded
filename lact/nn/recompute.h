// Activation checkpointing: memory for time. What the backward pass needs is computed again there instead of
// being kept from the forward pass: whole blocks, or only what is cheap.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <array>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "lact/nn/loan.h"

namespace lact::nn {

/// cheap: what elementwise steps and norms made; results of matrix products, of attention and of the fast
/// weights are kept. memory: these, and the hidden layers of the fast-weight networks. blocks: everything but
/// the inputs of blocks.
enum class Recompute { none, cheap, memory, blocks };
constexpr std::array<std::pair<Recompute, std::string_view>, 4> enum_names(Recompute) {
  return {{{Recompute::none, "none"},
           {Recompute::cheap, "cheap"},
           {Recompute::memory, "memory"},
           {Recompute::blocks, "blocks"}}};
}
constexpr const char* kRecomputeHelp =
    "what the backward pass computes again to save memory: none, cheap (elementwise steps and norms), memory "
    "(also the fast weights' hidden layers) or blocks (everything inside of blocks, a third more time)";

/// function(x). In the backward pass the function runs again on the same x; gradients of parameters that it
/// uses are added to them there. Without gradients it is just the call.
/// A loan has the parameters there in both passes.
at::Tensor recompute(const std::function<at::Tensor(const at::Tensor&)>& function, const at::Tensor& x,
                     const Loan& loan = {});

/// The same for a function of three tensors that others made, such as tokens and what modulates them. What
/// else it uses has to be parameters.
using ThreeInputs = std::array<at::Tensor, 3>;
at::Tensor recompute(const std::function<at::Tensor(const ThreeInputs&)>& function, const ThreeInputs& inputs,
                     const Loan& loan = {});

/// Cheap steps between two expensive ones. First `run` them, then let the expensive one read their values,
/// then `free_until_backward_of` its result:
///
///   nn::ActivationCheckpointing checkpointing(on);
///   const at::Tensor hidden = checkpointing.run(activation, {up});
///   const at::Tensor y = down.forward(hidden);
///   checkpointing.free_until_backward_of(y);
///
/// Switched off, or without gradients, `run` is just the call and nothing is freed.
class ActivationCheckpointing {
 public:
  using Function = std::function<at::Tensor(const std::vector<at::Tensor>&)>;

  explicit ActivationCheckpointing(bool on);

  /// function(inputs) of one or two inputs, of which only these are kept. The function must own what it uses
  /// and return new memory, with the same numbers whenever it is called.
  at::Tensor run(const Function& function, const std::vector<at::Tensor>& inputs);

  /// x in float32 or wider: itself if it is that already.
  at::Tensor widen(const at::Tensor& x);

  /// Frees the memory of all values of `run` and fills it again when the gradient of `result` is known.
  /// REQUIRES: nothing reads a value any more but the backward pass of what lies between it and `result`.
  /// Without this call values are freed when nobody holds them.
  void free_until_backward_of(const at::Tensor& result);

 private:
  struct Part;
  struct Step;
  /// A part and its value, outside of the graph.
  struct Made {
    std::shared_ptr<Part> part;
    at::Tensor value;
  };

  bool on_;
  std::vector<Made> made_;
};

/// A module with parts that can be computed again.
class Recomputes {
 public:
  virtual ~Recomputes() = default;
  virtual void set_recompute(Recompute what) {
    checkpoint_activations_ = what == Recompute::cheap || what == Recompute::memory;
  }

 protected:
  bool checkpoint_activations_ = false;
};

/// For all modules below this one. Blocks as a whole are the business of who runs them.
void set_recompute_below(torch::nn::Module& module, Recompute what);

}  // namespace lact::nn
