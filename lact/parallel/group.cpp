#include "lact/parallel/group.h"

#include <ATen/ATen.h>

#include <numeric>

namespace lact::parallel {

namespace {

/// The same bits as numbers that every build of c10d can move.
at::Tensor movable(const at::Tensor& x) { return x.scalar_type() == at::kBFloat16 ? x.view(at::kHalf) : x; }

}  // namespace

Transport::Wait Group::begin_sum(const at::Tensor& x, const char* what) const {
  if (alone() || x.numel() == 0) return [] {};
  ++traffic_->sums;
  traffic_->summed_bytes += int64_t(x.nbytes());
  const bool in_place = x.is_contiguous() && x.scalar_type() != at::kBFloat16;
  if (in_place) return transport_->begin_sum(x.detach(), what);
  const at::Tensor wide =
      x.detach().to(x.scalar_type() == at::kBFloat16 ? at::kFloat : x.scalar_type()).contiguous();
  return [x, wide, wait = transport_->begin_sum(wide, what)] {
    wait();
    at::NoGradGuard no_grad;
    x.detach().copy_(wide);
  };
}

void Group::sum(const at::Tensor& x, const char* what) const { begin_sum(x, what)(); }

void Group::broadcast(const at::Tensor& x, int64_t root, const char* what) const {
  if (alone() || x.numel() == 0) return;
  const at::Tensor all = x.detach().contiguous();
  transport_->broadcast(movable(all), root, what);
  if (!all.is_same(x.detach()) && rank() != root) x.detach().copy_(all);
}

at::Tensor Group::exchange(const at::Tensor& x, const std::vector<int64_t>& to,
                           const std::vector<int64_t>& from, const char* what) const {
  if (alone()) return x;
  LACT_ASSERT(int64_t(to.size()) == size() && int64_t(from.size()) == size());
  const int64_t sent = std::accumulate(to.begin(), to.end(), int64_t(0));
  LACT_ASSERT(sent == x.size(0));
  std::vector<int64_t> shape = x.sizes().vec();
  shape[0] = std::accumulate(from.begin(), from.end(), int64_t(0));
  const at::Tensor out = at::empty(shape, x.options());
  ++traffic_->exchanges;
  const int64_t row_bytes = sent > 0 ? int64_t(x.nbytes()) / sent : 0;
  traffic_->exchanged_bytes += (sent - to[size_t(rank())]) * row_bytes;
  transport_->exchange(movable(x.detach().contiguous()), to, movable(out), from, what);
  return out;
}

at::Tensor Group::gather(const at::Tensor& x, const char* what) const {
  std::vector<int64_t> shape = x.sizes().vec();
  shape.insert(shape.begin(), size());
  const std::vector<int64_t> one_each(size_t(size()), 1);
  return exchange(x.detach().unsqueeze(0).expand(shape).contiguous(), one_each, one_each, what);
}

at::Tensor Group::gather_rows(const at::Tensor& x, const char* what) const {
  if (alone()) return x;
  const at::Tensor counts = gather(at::tensor(x.size(0)), what);
  std::vector<int64_t> repeats(size_t(x.dim()), 1),
      from(counts.data_ptr<int64_t>(), counts.data_ptr<int64_t>() + size());
  repeats[0] = size();
  return exchange(x.repeat(repeats), std::vector<int64_t>(size_t(size()), x.size(0)), from, what);
}

void Group::barrier(const char* what) const { sum(at::ones({1}), what); }

}  // namespace lact::parallel
