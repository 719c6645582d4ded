// Numbered batches, made ahead of their use by background threads.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace lact::data {

struct StreamOptions {
  int threads = 1;
  int64_t ahead = 4;  ///< batches that wait for their use, at most
};

/// Asked now and then by whoever makes a batch; throws what ends the thread when the stream is to end.
using StopCheck = std::function<void()>;

/// The mechanism of Stream below, for batches of any type.
class NumberedStream {
 public:
  using Make = std::function<std::shared_ptr<void>(int64_t number, const StopCheck& stop_check)>;

  /// `action` is what the threads do, for sentences: "rendering".
  NumberedStream(Make make, const StreamOptions& options, std::string action);
  ~NumberedStream();
  NumberedStream(const NumberedStream&) = delete;
  NumberedStream& operator=(const NumberedStream&) = delete;

  /// How long `take` has waited for batches in total, and how often it had to.
  double seconds_waited() const;
  int64_t times_waited() const;
  /// Batches that are ready now.
  int64_t num_ready() const;

 protected:
  std::shared_ptr<void> take_any(int64_t number);

 private:
  struct Outcome {
    std::shared_ptr<void> batch;
    std::exception_ptr error;
  };

  void work();
  void stop();
  Outcome make(int64_t number, const StopCheck& stop_check) const;
  int64_t first_unclaimed() const;

  const Make make_;
  const int64_t ahead_;
  const std::string action_;

  mutable std::mutex mutex_;
  std::condition_variable wanted_;    ///< there may be a batch to make
  std::condition_variable finished_;  ///< there may be a batch to take
  int64_t next_ = 0;                  ///< batches next_, ..., next_ + ahead_ - 1 are made
  std::map<int64_t, Outcome> ready_;
  std::set<int64_t> in_work_;
  bool stopping_ = false;
  double seconds_waited_ = 0;
  int64_t times_waited_ = 0;
  std::vector<std::thread> threads_;
};

/// The destructor ends the threads; what is made between two stop checks is finished first.
template <class Batch>
class Stream : public NumberedStream {
 public:
  /// The number decides everything in a batch; called from several threads at once.
  using MakeBatch = std::function<Batch(int64_t number, const StopCheck& stop_check)>;

  Stream(MakeBatch make, const StreamOptions& options, std::string action)
      : NumberedStream(
            [make = std::move(make)](int64_t number, const StopCheck& stop_check) -> std::shared_ptr<void> {
              return std::make_shared<Batch>(make(number, stop_check));
            },
            options, std::move(action)) {}

  /// The batch of this number, from 0. The ones after it are being made meanwhile, so that counting up does
  /// not wait; any other order gives the same batches. What went wrong in a thread is thrown here, as an
  /// Error. For one thread at a time.
  Batch take(int64_t number) { return std::move(*std::static_pointer_cast<Batch>(take_any(number))); }
};

}  // namespace lact::data
