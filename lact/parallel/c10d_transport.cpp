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

/// Time for the others to notice a failure too, before those that have not are called lost.
constexpr auto kRollCall = std::chrono::milliseconds(1500);

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
    return [this, what, work] { attempt(what, [&] { work->wait(); }); };
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

  /// Says which ranks have not noticed: they are gone or stuck.
  std::string explain(const std::string& reason) const {
    std::vector<int64_t> missing;
    try {
      const auto key = [&](int64_t rank) { return fmt::format("{}/failed/{}", name_, rank); };
      rendezvous_.store->set(key(rendezvous_.rank), std::vector<uint8_t>{1});
      std::this_thread::sleep_for(kRollCall);
      for (const int64_t member : members_) {
        if (!rendezvous_.store->check({key(member)})) missing.push_back(member);
      }
    } catch (const std::exception&) {
      return fmt::format("rank 0, where the ranks meet, is gone ({})", reason);
    }
    if (missing.empty())
      return fmt::format("the connection between ranks {} broke ({})", fmt::join(members_, ", "), reason);
    return fmt::format("rank {} {} gone or stuck ({})", fmt::join(missing, " and rank "),
                       missing.size() == 1 ? "is" : "are", reason);
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
