#include "lact/data/stream.h"

#include <chrono>
#include <system_error>

#include "lact/base/error.h"

namespace lact::data {

namespace {
struct StreamEnds {};
}  // namespace

NumberedStream::NumberedStream(Make make, const StreamOptions& options, std::string action)
    : make_(std::move(make)), ahead_(options.ahead), action_(std::move(action)) {
  LACT_CHECK(options.threads >= 1 && options.threads <= 256, "{} {} threads are asked for, expected 1 to 256",
             options.threads, action_);
  LACT_CHECK(options.ahead >= 1 && options.ahead <= 1024,
             "{} batches ahead are asked for, expected 1 to 1024", options.ahead);
  try {
    for (int i = 0; i < options.threads; ++i) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error& error) {
    stop();
    fail("{} {} threads cannot be started: {}", options.threads, action_, error.what());
  }
}

NumberedStream::~NumberedStream() { stop(); }

void NumberedStream::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wanted_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

int64_t NumberedStream::first_unclaimed() const {
  int64_t number = next_;
  while (ready_.count(number) > 0 || in_work_.count(number) > 0) ++number;
  return number;
}

NumberedStream::Outcome NumberedStream::make(int64_t number, const StopCheck& stop_check) const {
  Outcome outcome;
  try {
    outcome.batch = make_(number, stop_check);
  } catch (const Error&) {
    outcome.error = std::current_exception();
  } catch (const std::exception& error) {
    outcome.error =
        std::make_exception_ptr(Error(fmt::format("{} batch {}: {}", action_, number, error.what())));
  }
  return outcome;
}

void NumberedStream::work() {
  const StopCheck stop_check = [this] {
    const std::lock_guard lock(mutex_);
    if (stopping_) throw StreamEnds();
  };
  std::unique_lock lock(mutex_);
  while (true) {
    wanted_.wait(lock, [&] { return stopping_ || first_unclaimed() < next_ + ahead_; });
    if (stopping_) return;
    const int64_t number = first_unclaimed();
    in_work_.insert(number);
    lock.unlock();
    Outcome outcome;
    try {
      outcome = make(number, stop_check);
    } catch (const StreamEnds&) {
      return;
    }
    lock.lock();
    in_work_.erase(number);
    // The consumer may have gone elsewhere meanwhile.
    if (number >= next_ && number < next_ + ahead_) ready_.emplace(number, std::move(outcome));
    finished_.notify_all();
  }
}

std::shared_ptr<void> NumberedStream::take_any(int64_t number) {
  LACT_CHECK(number >= 0, "batch {} is asked for, expected 0 or more", number);
  std::unique_lock lock(mutex_);
  next_ = number;
  std::erase_if(ready_,
                [&](const auto& entry) { return entry.first < next_ || entry.first >= next_ + ahead_; });
  wanted_.notify_all();
  if (ready_.count(number) == 0) {
    const auto start = std::chrono::steady_clock::now();
    finished_.wait(lock, [&] { return ready_.count(number) > 0; });
    seconds_waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    ++times_waited_;
  }
  Outcome outcome = std::move(ready_.extract(number).mapped());
  next_ = number + 1;
  wanted_.notify_all();
  if (outcome.error) std::rethrow_exception(outcome.error);
  return std::move(outcome.batch);
}

double NumberedStream::seconds_waited() const {
  const std::lock_guard lock(mutex_);
  return seconds_waited_;
}

int64_t NumberedStream::times_waited() const {
  const std::lock_guard lock(mutex_);
  return times_waited_;
}

int64_t NumberedStream::num_ready() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(ready_.size());
}

}  // namespace lact::data
