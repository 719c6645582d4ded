#include "lact/tasks/lm/serving/work_queue.h"

#include <utility>

namespace lact::tasks::lm {

WorkQueue::WorkQueue(int threads) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
}

WorkQueue::~WorkQueue() { stop(); }

void WorkQueue::stop() {
  std::deque<std::function<void()>> dropped;  // goes without the lock: who waits for it may push
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    dropped.swap(waiting_);
  }
  changed_.notify_all();
  for (auto& thread : threads_) thread.join();
  threads_.clear();
}

void WorkQueue::push(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (ending_) return;
    waiting_.push_back(std::move(work));
  }
  changed_.notify_one();
}

void WorkQueue::run() {
  while (true) {
    std::function<void()> work;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return ending_ || !waiting_.empty(); });
      if (ending_) return;
      work = std::move(waiting_.front());
      waiting_.pop_front();
    }
    work();
  }
}

}  // namespace lact::tasks::lm
