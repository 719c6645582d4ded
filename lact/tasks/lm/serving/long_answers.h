// The answers that are under way, looked after by a thread that knows the time.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace lact::tasks::lm {

class LongAnswer;

class LongAnswers {
 public:
  LongAnswers();
  ~LongAnswers();

  void add(const std::shared_ptr<LongAnswer>& answer);

  /// Gives up all of them, and those that are added from now on.
  void give_up_all(const std::string& sentence);
  size_t count();

  /// Nobody is looked after any more.
  void stop();

 private:
  void run();
  std::vector<std::shared_ptr<LongAnswer>> alive();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::weak_ptr<LongAnswer>> answers_;
  std::string closing_;  ///< the sentence, once everything is given up
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace lact::tasks::lm
