// Solvers of the flow dx/dsigma = velocity(x, sigma) from noise (sigma near 1) to a clean chunk (sigma 0).
// One object solves one chunk:
//
//   auto solver = make_solver(options);
//   for (x = noise; !solver->done();) x = solver->step(velocity(x, solver->timestep()), x);
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace lact::models {

enum class SolverKind { unipc, euler };
constexpr std::array<std::pair<SolverKind, std::string_view>, 2> enum_names(SolverKind) {
  return {{{SolverKind::unipc, "unipc"}, {SolverKind::euler, "euler"}}};
}

struct SolverOptions {
  SolverKind solver = SolverKind::unipc;
  int64_t steps = 50;
  double shift = 3;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("solver", solver, "how the flow is solved: unipc (second order) or euler");
    field("steps", steps, "steps from noise to a clean chunk");
    field("shift", shift, "time shift of the noise levels; above 1 there are more steps in the noise");
  }
  bool operator==(const SolverOptions&) const = default;

  void check() const;
};

class Solver {
 public:
  virtual ~Solver() = default;

  /// The levels before each step and after the last one: steps + 1 numbers, falling.
  const std::vector<double>& sigmas() const { return sigmas_; }
  int64_t steps() const { return int64_t(sigmas_.size()) - 1; }

  /// The step that comes next; steps() when all are taken.
  int64_t position() const { return position_; }
  bool done() const { return position_ == steps(); }

  /// What the model is told of the time at the next step, 0 to 1000.
  double timestep() const { return timestep_of(sigmas_.at(size_t(position_))); }

  /// The sample at the next level; `velocity` is that of `sample` at timestep().
  at::Tensor step(const at::Tensor& velocity, const at::Tensor& sample);

 protected:
  explicit Solver(std::vector<double> sigmas);

  virtual at::Tensor take_step(const at::Tensor& velocity, const at::Tensor& sample) = 0;
  virtual double timestep_of(double sigma) const = 0;

 private:
  std::vector<double> sigmas_;
  int64_t position_ = 0;
};

std::unique_ptr<Solver> make_solver(const SolverOptions& options);

}  // namespace lact::models
