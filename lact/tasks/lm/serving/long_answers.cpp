#include "lact/tasks/lm/serving/long_answers.h"

#include <algorithm>
#include <chrono>

#include "lact/tasks/lm/serving/long_answer.h"

namespace lact::tasks::lm {

namespace {

constexpr std::chrono::milliseconds kBetweenTicks{100};

}  // namespace

LongAnswers::LongAnswers() : thread_([this] { run(); }) {}

LongAnswers::~LongAnswers() { stop(); }

void LongAnswers::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void LongAnswers::add(const std::shared_ptr<LongAnswer>& answer) {
  std::string closing;
  {
    const std::lock_guard lock(mutex_);
    answers_.push_back(answer);
    closing = closing_;
  }
  if (!closing.empty()) answer->give_up(503, closing);
}

std::vector<std::shared_ptr<LongAnswer>> LongAnswers::alive() {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<LongAnswer>> found;
  std::erase_if(answers_, [](const auto& weak) { return weak.expired(); });
  for (const auto& weak : answers_) {
    if (auto answer = weak.lock()) found.push_back(std::move(answer));
  }
  return found;
}

void LongAnswers::give_up_all(const std::string& sentence) {
  {
    const std::lock_guard lock(mutex_);
    closing_ = sentence;
  }
  for (const auto& answer : alive()) answer->give_up(503, sentence);
}

size_t LongAnswers::count() { return alive().size(); }

void LongAnswers::run() {
  while (true) {
    {
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, kBetweenTicks, [&] { return stopping_; })) return;
    }
    const auto now = LongAnswer::Clock::now();
    for (const auto& answer : alive()) answer->tick(now);
  }
}

}  // namespace lact::tasks::lm
