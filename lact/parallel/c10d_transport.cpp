#include "lact/parallel/c10d_transport.h"

#ifdef LACT_HAS_GLOO

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include <cstdlib>
#include <mutex>
#include <thread>

#include "lact/base/one_sentence.h"

namespace lact::parallel {

namespace {

/// How often one that waits asks whether others have given up.
constexpr auto kLook = std::chrono::milliseconds(500);
/// Others get so long to say that they are there, after something failed: those that wait say it when they
/// look, those that compute when they are done. If one alone has not, it is the one.
constexpr auto kRollCall = std::chrono::milliseconds(1500), kLongRollCall = std::chrono::milliseconds(6000);

const char* const kAlarm = "alarm";

class C10dTransport : public Transport {
 public:
  C10dTransport(const Rendezvous& rendezvous, std::string name, std::vector<int64_t> members)
      : rendezvous_(rendezvous), name_(std::move(name)), members_(std::move(members)) {
    while (members_[size_t(rank_)] != rendezvous.rank) ++rank_;
    auto options = c10d::ProcessGroupGloo::Options::create(rendezvous.timeout);
    const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
    attempt("connecting", [&] {
      options->devices.push_back(
          interface != nullptr        ? c10d::ProcessGroupGloo::createDeviceForInterface(interface)
          : rendezvous.device.empty() ? c10d::ProcessGroupGloo::createDefaultDevice()
                                      : c10d::ProcessGroupGloo::createDeviceForHostname(rendezvous.device));
      const auto store = c10::make_intrusive<c10d::PrefixStore>(name_, rendezvous.store);
      group_ = c10::make_intrusive<c10d::ProcessGroupGloo>(store, int(rank_), int(members_.size()), options);
    });
  }

  ~C10dTransport() override {
    // Its destructor would wait for operations that a lost rank will never finish.
    if (lost_) group_.release();
  }

  int64_t rank() const override { return rank_; }
  int64_t size() const override { return int64_t(members_.size()); }

  Wait begin_sum(const at::Tensor& x, const char* what) override {
    std::vector<at::Tensor> tensors = {x};
    return begin(what, [&] { return group_->allreduce(tensors); });
  }

  void broadcast(const at::Tensor& x, int64_t root, const char* what) override {
    std::vector<at::Tensor> tensors = {x};
    c10d::BroadcastOptions options;
    options.rootRank = int(root);
    begin(what, [&] { return group_->broadcast(tensors, options); })();
  }

  void exchange(const at::Tensor& in, const std::vector<int64_t>& to, const at::Tensor& out,
                const std::vector<int64_t>& from, const char* what) override {
    std::vector<int64_t> out_counts = from, in_counts = to;
    at::Tensor target = out, source = in;
    begin(what, [&] { return group_->alltoall_base(target, source, out_counts, in_counts); })();
  }

 private:
  template <class Operation>
  Wait begin(const char* what, const Operation& operation) {
    c10::intrusive_ptr<c10d::Work> work;
    attempt(what, [&] { work = operation(); });
    return [this, what, work] { attempt(what, [&] { wait(*work); }); };
  }

  /// Until it is done or has failed, here or elsewhere: a rank whose neighbours live would only notice after
  /// the timeout.
  void wait(c10d::Work& work) const {
    while (true) {
      try {
        work.wait(kLook);
        return;
      } catch (const std::exception&) {
        if (work.isCompleted()) break;  // perhaps only just, and well
      }
      if (rendezvous_.store->check({kAlarm})) throw std::runtime_error("others have given up");
    }
    work.wait();
  }

  template <class Body>
  void attempt(const char* what, const Body& body) {
    try {
      body();
    } catch (const std::exception& error) {
      lost_ = true;
      throw RankLost(fmt::format("[parallel] {}: {}", what, explain(one_sentence(error))));
    }
  }

  /// Says which ranks of the group do not say that they are there: they are gone or stuck.
  std::string explain(const std::string& reason) const {
    std::vector<int64_t> missing;
    try {
      missing = roll_call();
    } catch (const std::exception&) {
      return fmt::format("rank 0, where the ranks meet, is gone or stuck ({})", reason);
    }
    if (missing.empty())
      return fmt::format("the connection between ranks {} broke ({})", fmt::join(members_, ", "), reason);
    return fmt::format("rank {} {} gone or stuck ({})", fmt::join(missing, " and rank "),
                       missing.size() == 1 ? "is" : "are", reason);
  }

  std::vector<int64_t> roll_call() const {
    c10d::Store& store = *rendezvous_.store;
    const auto tell = [&](const std::string& key) { store.set(key, std::vector<uint8_t>{1}); };
    const auto without = [&](const char* word) {
      std::vector<int64_t> ranks;
      for (const int64_t member : members_) {
        if (!store.check({fmt::format("{}/{}", word, member)})) ranks.push_back(member);
      }
      return ranks;
    };
    const auto wait_until = [](std::chrono::milliseconds longest, const auto& done) {
      const auto start = std::chrono::steady_clock::now();
      while (!done(std::chrono::steady_clock::now() - start) &&
             std::chrono::steady_clock::now() - start < longest) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
    };
    tell(kAlarm);
    tell(fmt::format("there/{}", rendezvous_.rank));
    std::vector<int64_t> missing;
    wait_until(kLongRollCall, [&](auto passed) {
      missing = without("there");
      return missing.empty() || (missing.size() == 1 && passed >= kRollCall);
    });
    tell(fmt::format("told/{}", rendezvous_.rank));
    // The store ends with rank 0: the others need it until they know as well.
    if (rendezvous_.rank == 0)
      wait_until(kLongRollCall, [&](auto) { return without("told").size() <= missing.size(); });
    return missing;
  }

  Rendezvous rendezvous_;
  std::string name_;
  std::vector<int64_t> members_;  ///< ranks in the job
  int64_t rank_ = 0;
  bool lost_ = false;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
};

}  // namespace

std::shared_ptr<Transport> connect(const Rendezvous& rendezvous, const std::string& name,
                                   const std::vector<int64_t>& members) {
  return std::make_shared<C10dTransport>(rendezvous, name, members);
}

}  // namespace lact::parallel

#endif
