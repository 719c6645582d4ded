// What a mixer remembers between calls. The caller owns it; a mixer only advances it.
#pragma once

namespace lact {

class State {
 public:
  virtual ~State() = default;

 protected:
  State() = default;
  State(const State&) = default;
  State& operator=(const State&) = default;
};

}  // namespace lact
