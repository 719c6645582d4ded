// Gaussians that an optimizer works on: their number changes, and its memory of each goes with it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "lact/ops/splat/gaussians.h"
#include "lact/tasks/nvs/splatting/config.h"

namespace lact::tasks::nvs {

class Population {
 public:
  explicit Population(const ops::Gaussians& initial);

  /// Leaves of the graph, float32 and contiguous.
  const ops::Gaussians& gaussians() const { return gaussians_; }
  int64_t size() const { return gaussians_.size(); }

  /// The same Gaussians with other numbers; what the optimizer remembers stays.
  void set(const ops::Gaussians& changed);
  /// Adds Gaussians, of which nothing is remembered.
  void append(const ops::Gaussians& others);
  /// Keeps the Gaussians of these numbers, int64 [n].
  void keep(const at::Tensor& numbers);
  /// Forgets what the optimizer knows of these.
  void forget(const at::Tensor& numbers);
  /// The same for one field of all, by its place in kGaussianFields.
  void forget_field(size_t field);

  /// One step of Adam with the gradients that the leaves hold, which are cleared. `position_rate` is in units
  /// of the world.
  void step(const SplatRates& rates, double position_rate);

  /// Names begin with "gaussians.".
  void save(std::map<std::string, at::Tensor>& tensors) const;
  /// Throws a sentence that names `file` for what is missing or does not fit.
  static Population load(const std::map<std::string, at::Tensor>& tensors, const std::string& file);

 private:
  void make_leaves();
  ops::Gaussians gaussians_;
  std::array<at::Tensor, 5> mean_, square_;
  int64_t steps_ = 0;
};

}  // namespace lact::tasks::nvs
