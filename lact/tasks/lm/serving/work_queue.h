// Threads that do what would keep the server's own thread from its clients: reading JSON, tokenizing, files.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace lact::tasks::lm {

class WorkQueue {
 public:
  explicit WorkQueue(int threads);
  ~WorkQueue();

  /// From any thread. Work must not throw.
  void push(std::function<void()> work);

  /// Waits for work that has begun; what has not is dropped, now and later.
  void stop();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace lact::tasks::lm
