// A group of ranks that move tensors between them. A group of one is the ordinary case, in which every
// operation is the identity: layers are written for a group and do not ask.
//
// All ranks of a group call its operations in one order. An operation that fails because a rank is gone or
// stuck throws RankLost on all others.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lact/base/error.h"

namespace lact::parallel {

/// The job cannot go on. The process should end without waiting for the group's connections.
class RankLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What moves the bytes: LibTorch's c10d, or nothing. Tensors are contiguous.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual int64_t rank() const = 0;
  virtual int64_t size() const = 0;

  /// Waits until the operation is done; throws RankLost.
  using Wait = std::function<void()>;
  virtual Wait begin_sum(const at::Tensor& x, const char* what) = 0;
  virtual void broadcast(const at::Tensor& x, int64_t root, const char* what) = 0;
  /// Rows of `in` in the order of ranks that they go to; `out` has rows in the order of ranks that they come
  /// from.
  virtual void exchange(const at::Tensor& in, const std::vector<int64_t>& to, const at::Tensor& out,
                        const std::vector<int64_t>& from, const char* what) = 0;
};

/// Numbers that a group has moved, for what a plan predicts.
struct Traffic {
  int64_t sums = 0, summed_bytes = 0;          ///< of tensors that all ranks add up
  int64_t exchanges = 0, exchanged_bytes = 0;  ///< sent to other ranks
};

class Group {
 public:
  Group() = default;
  explicit Group(std::shared_ptr<Transport> transport) : transport_(std::move(transport)) {}

  int64_t rank() const { return transport_ ? transport_->rank() : 0; }
  int64_t size() const { return transport_ ? transport_->size() : 1; }
  bool alone() const { return size() == 1; }

  /// The sum over ranks, in place. bfloat16 is added up in float32. `what` is for messages.
  void sum(const at::Tensor& x, const char* what) const;
  /// The same while the caller goes on; the result is there when what is returned has been called.
  Transport::Wait begin_sum(const at::Tensor& x, const char* what) const;

  void broadcast(const at::Tensor& x, int64_t root, const char* what) const;

  /// Row i of x [rows, ...] goes to the rank that `to` (rows for each rank, in order) says; returns the rows
  /// that come, in the order of ranks, `from` of each.
  at::Tensor exchange(const at::Tensor& x, const std::vector<int64_t>& to, const std::vector<int64_t>& from,
                      const char* what) const;

  /// x of every rank, [size, ...].
  at::Tensor gather(const at::Tensor& x, const char* what) const;

  /// The rows [n, ...] of all ranks, in the order of ranks, each of which may have another number of them.
  at::Tensor gather_rows(const at::Tensor& x, const char* what) const;

  /// Returns when all ranks are here.
  void barrier(const char* what) const;

  const Traffic& traffic() const { return *traffic_; }

 private:
  std::shared_ptr<Transport> transport_;
  std::shared_ptr<Traffic> traffic_ = std::make_shared<Traffic>();
};

}  // namespace lact::parallel
