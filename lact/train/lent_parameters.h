// The parameters of a model's blocks, shared out among ranks (ZeRO-3): each matrix has one rank that keeps
// it, its gradient and its moments. While a block runs it is lent to all; after its backward pass the owner
// gets the sum of the gradients. What lies outside of blocks, and vectors, every rank has.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "lact/nn/loan.h"
#include "lact/parallel/group.h"

namespace lact::train {

class LentParameters : public nn::Lender {
 public:
  explicit LentParameters(parallel::Group ranks);

  void take(torch::nn::Module& block) override;
  void lend(const torch::nn::Module& block, nn::Pass pass) override;
  void take_back(const torch::nn::Module& block, nn::Pass pass) override;

  /// The rank that keeps a parameter; nothing for one that all have.
  std::optional<int64_t> owner(const at::Tensor& parameter) const;
  const parallel::Group& ranks() const { return ranks_; }
  /// Numbers that each rank keeps for all.
  const std::vector<int64_t>& kept() const { return kept_; }

 private:
  /// The parameters of a block that are lent, in one order on all ranks.
  std::vector<at::Tensor> lent_in(const torch::nn::Module& block) const;
  void add_up(const std::vector<at::Tensor>& parameters);

  parallel::Group ranks_;
  std::vector<int64_t> kept_;
  std::map<const void*, int64_t> owners_;            ///< by variable
  std::map<const void*, at::Tensor> gradients_yet_;  ///< of passes before this one, of what this rank owns
};

}  // namespace lact::train
