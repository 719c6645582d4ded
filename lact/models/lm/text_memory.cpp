#include "lact/models/lm/text_memory.h"

#include <ATen/ATen.h>

namespace lact::models {

TextMemory TextMemory::clone() const {
  return {state->copy(), last_hidden, boundary_hidden, history, boundary};
}

int64_t TextMemory::bytes() const {
  const auto hidden = [](const at::Tensor& x) { return x.defined() ? int64_t(x.nbytes()) : 0; };
  return state_bytes(*state) + hidden(last_hidden) + hidden(boundary_hidden) +
         8 * int64_t(history.tail.size()) + (boundary ? boundary->bytes() : 0);
}

int64_t state_bytes(State& state) {
  struct Counter : StateVisitor {
    int64_t bytes = 0;
    void tensor(const std::string&, at::Tensor& value, int64_t) override {
      bytes += value.numel() * int64_t(value.element_size());
    }
    void number(const std::string&, int64_t&) override {}
  } counter;
  state.visit(counter, "");
  return counter.bytes;
}

}  // namespace lact::models
