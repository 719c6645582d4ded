#include "lact/base/profile.h"

#include <ATen/SequenceNumber.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <thread>

#include "lact/base/error.h"

namespace lact::profile {

namespace detail {
std::atomic<bool> active = false;
}

namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t kOther = 0;

/// Autograd numbers the nodes that the forward pass records, in order. Remembering where each part begins and
/// ends in that order tells to whom a node of the backward pass belongs.
class Recorder {
 public:
  Recorder() : thread_(std::this_thread::get_id()), last_(Clock::now()) {
    parts_.push_back({"other"});
    boundaries_.push_back({0, kOther});
    stack_.push_back({kOther, false});
  }

  bool is_mine() const { return std::this_thread::get_id() == thread_; }

  void enter(const char* name) {
    const size_t part = find(name);
    boundaries_.push_back({at::sequence_number::peek(), part});
    push({part, stack_.back().backward});
  }
  void leave() {
    pop();
    boundaries_.push_back({at::sequence_number::peek(), stack_.back().part});
  }

  void enter_node(int64_t sequence) {
    const bool known = sequence >= 0 && sequence != std::numeric_limits<int64_t>::max();
    push({known ? owner(uint64_t(sequence)) : kOther, true});
  }
  void leave_node() { pop(); }

  std::vector<Part> finish() {
    count();
    return parts_;
  }

 private:
  struct Place {
    size_t part;
    bool backward;
  };
  struct Boundary {
    uint64_t sequence;
    size_t part;
  };

  size_t find(const char* name) {
    for (size_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].name == name) return i;
    }
    parts_.push_back({name});
    return parts_.size() - 1;
  }

  size_t owner(uint64_t sequence) const {
    const auto after =
        std::upper_bound(boundaries_.begin(), boundaries_.end(), sequence,
                         [](uint64_t number, const Boundary& b) { return number < b.sequence; });
    return std::prev(after)->part;
  }

  /// Gives the time since the last change to whoever is on top.
  void count() {
    const auto now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    const auto [part, backward] = stack_.back();
    (backward ? parts_[part].backward : parts_[part].forward) += seconds;
    last_ = now;
  }
  void push(Place place) {
    count();
    stack_.push_back(place);
  }
  void pop() {
    count();
    stack_.pop_back();
    LACT_ASSERT(!stack_.empty());
  }

  std::thread::id thread_;
  Clock::time_point last_;
  std::vector<Part> parts_;
  std::vector<Boundary> boundaries_;  // in the order of their numbers
  std::vector<Place> stack_;
};

std::optional<Recorder> recorder;
at::CallbackHandle callback;

std::unique_ptr<at::ObserverContext> on_node_start(const at::RecordFunction& node) {
  if (recorder && recorder->is_mine()) recorder->enter_node(node.seqNr());
  return nullptr;
}
void on_node_end(const at::RecordFunction& /*node*/, at::ObserverContext* /*context*/) {
  if (recorder && recorder->is_mine()) recorder->leave_node();
}

}  // namespace

namespace detail {
void enter(const char* part) {
  if (recorder && recorder->is_mine()) recorder->enter(part);
}
void leave() {
  if (recorder && recorder->is_mine()) recorder->leave();
}
}  // namespace detail

void start() {
  LACT_CHECK(!recorder, "[profile] one is being taken already");
  recorder.emplace();
  callback = at::addThreadLocalCallback(
      at::RecordFunctionCallback(on_node_start, on_node_end).scopes({at::RecordScope::BACKWARD_FUNCTION}));
  detail::active = true;
}

std::vector<Part> stop() {
  LACT_CHECK(recorder.has_value(), "[profile] none is being taken");
  detail::active = false;
  at::removeCallback(callback);
  auto parts = recorder->finish();
  recorder.reset();
  return parts;
}

}  // namespace lact::profile
