// Where the time of a computation goes, part by part, forward and backward. A part of the forward pass names
// itself:
//
//   const profile::Scope part("window attention");
//
// and the backward pass of whatever was recorded inside belongs to it as well. Costs nothing while no profile
// is being taken.
#pragma once

#include <atomic>
#include <string>
#include <vector>

namespace lact::profile {

namespace detail {
extern std::atomic<bool> active;
void enter(const char* part);
void leave();
}  // namespace detail

/// Of scopes inside each other the innermost counts.
class Scope {
 public:
  explicit Scope(const char* part) : counts_(detail::active.load(std::memory_order_relaxed)) {
    if (counts_) detail::enter(part);
  }
  ~Scope() {
    if (counts_) detail::leave();
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  bool counts_;
};

struct Part {
  std::string name;
  double forward = 0, backward = 0;  ///< seconds
};

/// Times what this thread does until stop(); other threads' scopes are not counted. "other" is time outside
/// of all scopes. Not while another profile is taken.
void start();
std::vector<Part> stop();

}  // namespace lact::profile
