// A tiny model for the recall task: embeddings, one residual block, and logits of the answer at every token.
#pragma once

#include <torch/nn/module.h>

#include <memory>
#include <string>
#include <vector>

#include "lact/models/common/block.h"
#include "recall/task.h"

namespace recall {

/// What remembers beyond the window. All contenders have about the same number of parameters.
enum class Memory { muon, gradient_descent, window_only };

struct Contender {
  std::string name, slug;
  Memory memory;
};
std::vector<Contender> contenders();

struct Shape {
  int64_t model_dim = 64;
  int64_t window = 32;  ///< tokens that attention sees, and the chunk of the fast weights
};

class Model : public torch::nn::Module {
 public:
  Model(const Task& task, const Shape& shape, Memory memory);

  /// Logits [B, T, values].
  at::Tensor forward(const Batch& batch) const;

  int64_t num_parameters() const;

 private:
  lact::SequenceLayout layout_;
  at::Tensor key_embedding_, value_embedding_;
  std::shared_ptr<lact::nn::Linear> input_, output_;
  std::shared_ptr<lact::models::Block> block_;
  std::shared_ptr<lact::nn::Norm> norm_;
};

}  // namespace recall
