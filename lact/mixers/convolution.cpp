#include "lact/mixers/convolution.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"

namespace lact {

at::Tensor causal_convolution(const at::Tensor& x, const at::Tensor& weights, at::Tensor& tail,
                              int64_t more) {
  const int64_t tokens = x.size(1), before = weights.size(0) - 1, kept = tail.size(1);
  LACT_CHECK(kept >= before, "[convolution] {} tokens of the text before are kept, expected {}", kept,
             before);
  const at::Tensor all = at::cat({tail.to(x.scalar_type()), x}, 1);
  const at::Tensor row = all.narrow(1, kept - before, before + tokens);
  const at::Tensor factors = weights.to(x.scalar_type());
  at::Tensor out = row.narrow(1, 0, tokens) * factors[0];
  for (int64_t i = 1; i <= before; ++i) out = out + row.narrow(1, i, tokens) * factors[i];
  // A copy: a view would keep the whole piece in memory.
  const int64_t next = std::min(all.size(1), before + more);
  tail = all.narrow(1, all.size(1) - next, next).clone();
  return out;
}

void ConvolutionTail::forget_last(int64_t tokens) {
  LACT_ASSERT(tokens <= forgettable());
  rows = rows.narrow(1, 0, rows.size(1) - tokens);
}

}  // namespace lact
