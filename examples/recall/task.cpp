#include "recall/task.h"

#include <ATen/ATen.h>

namespace recall {

Batch draw_batch(const Task& task, int64_t size) {
  const int64_t tokens = task.tokens, pairs = task.pairs();
  const at::Tensor keys = at::rand({size, task.keys}).argsort(1, /*descending=*/false).slice(1, 0, pairs);
  const at::Tensor values = at::randint(task.values, {size, pairs}, at::kLong);
  // One place in each group of tokens; the first pair comes first, so that every token has something to ask
  // for.
  at::Tensor places =
      at::arange(pairs, at::kLong) * task.every + at::randint(task.every, {size, pairs}, at::kLong);
  places.select(1, 0).zero_();

  const at::Tensor position = at::arange(tokens, at::kLong).expand({size, tokens}).contiguous();
  const at::Tensor told = at::searchsorted(places, position);  // pairs told before each token
  const at::Tensor pick = (at::rand({size, tokens}) * told).to(at::kLong).minimum((told - 1).clamp_min(0));

  const auto tell = [&](int64_t blank, const at::Tensor& what) {
    return at::full({size, tokens}, blank, at::kLong).scatter(1, places, what);
  };
  return {.key = tell(task.keys, keys),
          .value = tell(task.values, values),
          .asked = keys.gather(1, pick),
          .answer = values.gather(1, pick),
          .distance = position - places.gather(1, pick)};
}

}  // namespace recall
