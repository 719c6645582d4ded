// Parameters that are there only while their block runs. In between they take no memory here: somebody else
// has them, such as another process.
#pragma once

#include <torch/nn/module.h>

#include <memory>

namespace lact::nn {

/// Whether a tensor has its memory; one that is on loan has only its shape.
bool is_held(const at::Tensor& x);
/// Lets the memory go, which lives on while a view shows it; and takes new memory, without values. The tensor
/// stays the same variable.
void let_go(at::Tensor x);
void hold(at::Tensor x);

enum class Pass { forward, backward };

class Lender {
 public:
  virtual ~Lender() = default;
  /// A block that has just been made: its parameters are lent from now on.
  virtual void take(torch::nn::Module& block) = 0;
  /// Before a block runs; for a backward pass, before it runs again.
  virtual void lend(const torch::nn::Module& block, Pass pass) = 0;
  /// After it has run; after a backward pass its parameters have gradients.
  virtual void take_back(const torch::nn::Module& block, Pass pass) = 0;
};

/// While one lives, models that this thread makes give their blocks to the lender; null: to nobody.
class LendingScope {
 public:
  explicit LendingScope(std::shared_ptr<Lender> lender);
  ~LendingScope();
  LendingScope(const LendingScope&) = delete;
  LendingScope& operator=(const LendingScope&) = delete;

 private:
  std::shared_ptr<Lender> before_;
};
std::shared_ptr<Lender> lender_in_scope();

/// For each block of a model as soon as it is made.
template <class Block>
std::shared_ptr<Block> given_to_lender(std::shared_ptr<Block> block) {
  if (const auto lender = lender_in_scope()) lender->take(*block);
  return block;
}

/// The parameters of a block for one pass. Without a lender the block has them always.
struct Loan {
  std::shared_ptr<Lender> lender;
  std::shared_ptr<torch::nn::Module> block;

  void begin(Pass pass) const {
    if (lender) lender->lend(*block, pass);
  }
  void end(Pass pass) const {
    if (lender) lender->take_back(*block, pass);
  }
};

}  // namespace lact::nn
