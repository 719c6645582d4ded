#include "lact/ttt/add_up.h"

#include <ATen/ATen.h>

#include "lact/parallel/collectives.h"

namespace lact::ttt {

namespace {

at::Tensor shaped(const at::Tensor& all, int64_t& next, const at::Tensor& like) {
  const at::Tensor part = all.narrow(0, next, like.numel()).view(like.sizes());
  next += like.numel();
  return part;
}

void unpack_tensors(const at::Tensor& all, std::vector<at::Tensor>& matrices, at::Tensor& momentum) {
  int64_t next = 0;
  for (auto& matrix : matrices) {
    if (matrix.defined()) matrix = shaped(all, next, matrix);
  }
  if (momentum.defined()) momentum = shaped(all, next, momentum);
}

std::vector<int64_t> share_sizes(int64_t heads, const parallel::Group& ranks) {
  std::vector<int64_t> sizes;
  for (int64_t rank = 0; rank < ranks.size(); ++rank) {
    sizes.push_back(heads * (rank + 1) / ranks.size() - heads * rank / ranks.size());
  }
  return sizes;
}

}  // namespace

Range own_share(int64_t heads, const parallel::Group& ranks) {
  return {heads * ranks.rank() / ranks.size(), heads * (ranks.rank() + 1) / ranks.size()};
}

at::Tensor gather_shares(const at::Tensor& own, int64_t heads, const parallel::Group& ranks) {
  std::vector<int64_t> repeats(size_t(own.dim()), 1);
  repeats[0] = ranks.size();
  return parallel::exchange(own.repeat(repeats), std::vector<int64_t>(size_t(ranks.size()), own.size(0)),
                            share_sizes(heads, ranks), ranks, "gathering orthogonalised steps");
}

at::Tensor sum_of_share(const at::Tensor& x, const parallel::Group& ranks) {
  const int64_t own = own_share(x.size(0), ranks).size();
  std::vector<int64_t> shape = x.sizes().vec();
  shape[0] = own;
  shape.insert(shape.begin(), ranks.size());
  return ranks
      .exchange(x, share_sizes(x.size(0), ranks), std::vector<int64_t>(size_t(ranks.size()), own),
                "adding up gradients of orthogonalised steps")
      .reshape(shape)
      .sum(0);
}

at::Tensor packed(const std::vector<at::Tensor>& matrices, const at::Tensor& momentum, double count) {
  std::vector<at::Tensor> parts;
  for (const auto& matrix : matrices) {
    if (matrix.defined()) parts.push_back(matrix.reshape({-1}));
  }
  if (momentum.defined()) parts.push_back(momentum.reshape({-1}).to(parts.front().scalar_type()));
  parts.push_back(at::full({1}, count, parts.front().options().requires_grad(false)));
  return at::cat(parts);
}

double unpack(const at::Tensor& all, std::vector<at::Tensor>& matrices, at::Tensor& momentum) {
  unpack_tensors(all, matrices, momentum);
  return all[all.numel() - 1].item<double>();
}

Direction add_up(Direction own, const parallel::Group& context) {
  if (context.alone()) return own;
  at::Tensor momentum = own.beta.defined() ? own.beta.sum(-2, /*keepdim=*/true) : at::Tensor();
  const int64_t tokens = own.beta.defined() ? own.beta.size(-2) : 0;
  const at::Tensor all =
      parallel::sum(packed(own.matrices, momentum, double(tokens)), context, kSumOfDirections);
  unpack_tensors(all, own.matrices, momentum);
  if (momentum.defined()) momentum = momentum / all[all.numel() - 1].detach();
  own.beta = momentum;
  return own;
}

}  // namespace lact::ttt
