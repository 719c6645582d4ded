#include "lact/models/lm/text_memory.h"

#include <ATen/ATen.h>

namespace lact::models {

namespace {

/// Memory of LibTorch's allocator can be resized, a mapped file cannot.
bool fills_own_memory(const at::Tensor& x) {
  return !x.has_storage() || (x.storage().nbytes() <= x.nbytes() && x.storage().resizable());
}

/// `action` for each tensor of a state.
template <class Action>
void for_each_tensor(State& state, const Action& action) {
  struct Visitor : StateVisitor {
    explicit Visitor(const Action& a) : action(a) {}
    const Action& action;
    void tensor(const std::string&, at::Tensor& value, int64_t) override { action(value); }
    void number(const std::string&, int64_t&) override {}
  } visitor(action);
  state.visit(visitor, "");
}

}  // namespace

TextMemory TextMemory::clone() const {
  return {state->copy(), last_hidden, boundary_hidden, history, boundary};
}

int64_t TextMemory::bytes() const {
  const auto hidden = [](const at::Tensor& x) { return x.defined() ? int64_t(x.nbytes()) : 0; };
  return state_bytes(*state) + hidden(last_hidden) + hidden(boundary_hidden) +
         8 * int64_t(history.tail.size()) + (boundary ? boundary->bytes() : 0);
}

bool TextMemory::is_compact() const {
  bool compact = !boundary || boundary->is_compact();
  for_each_tensor(*state, [&](const at::Tensor& value) { compact = compact && fills_own_memory(value); });
  return compact;
}

TextMemory TextMemory::compact() const {
  const at::NoGradGuard no_grad;
  TextMemory copy = clone();
  for_each_tensor(*copy.state, [](at::Tensor& value) {
    if (!fills_own_memory(value)) value = value.clone(at::MemoryFormat::Contiguous);
  });
  if (boundary) copy.boundary = std::make_shared<const TextMemory>(boundary->compact());
  return copy;
}

int64_t state_bytes(State& state) {
  int64_t bytes = 0;
  for_each_tensor(state, [&](const at::Tensor& value) { bytes += int64_t(value.nbytes()); });
  return bytes;
}

}  // namespace lact::models
