#include "lact/mixers/single.h"

#include "lact/base/error.h"

namespace lact {

SingleMixer::SingleMixer(int64_t model_dim, const ProjectionConfig& projection, std::shared_ptr<Core> core)
    : projection_(register_module("projection", std::make_shared<Projection>(model_dim, projection))),
      core_(register_module("core", std::move(core))) {
  LACT_CHECK(projection.conv_width == 0, "[mixer] conv_width is {}, expected 0 in a layer of one core",
             projection.conv_width);
}

std::unique_ptr<State> SingleMixer::initial_state(int64_t batch) { return core_->initial_state(batch); }

at::Tensor SingleMixer::advance(const at::Tensor& x, const SequenceLayout& layout, State& state) {
  check_tokens(x, layout);
  return projection_->out(mix(*core_, projection_->in(x), layout, state));
}

SetCore& SingleMixer::set_core() const {
  auto* core = dynamic_cast<SetCore*>(core_.get());
  LACT_ASSERT(core != nullptr);
  return *core;
}

void SingleMixer::collect(const at::Tensor& x, const SequenceLayout& layout, State& state) {
  check_tokens(x, layout);
  set_core().collect(projection_->keys_and_values(x), layout, state);
}

void SingleMixer::write_collected(State& state) { set_core().write_collected(state); }

at::Tensor SingleMixer::read(const at::Tensor& x, const SequenceLayout& layout, const State& state) {
  check_tokens(x, layout);
  SetCore& core = set_core();
  const Projected in = core.sees_itself() ? projection_->in(x) : projection_->queries(x);
  return projection_->out(core.read(in, layout, state));
}

}  // namespace lact
