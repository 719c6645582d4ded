#include "lact/tasks/lm/engine/ordered_texts.h"

#include <condition_variable>
#include <mutex>
#include <optional>

#include "lact/base/error.h"

namespace lact::tasks::lm {

namespace {

/// Between the engine's thread and the one that waits.
class Mailbox {
 public:
  void write(const std::string& bytes) {
    const std::lock_guard lock(mutex_);
    bytes_ += bytes;
    changed_.notify_all();
  }
  void finish(const TextOutcome& outcome) {
    const std::lock_guard lock(mutex_);
    outcome_ = outcome;
    changed_.notify_all();
  }

  /// Waits for news: bytes, and the outcome behind the last of them.
  std::pair<std::string, std::optional<TextOutcome>> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !bytes_.empty() || outcome_; });
    return {std::exchange(bytes_, {}), outcome_};
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string bytes_;
  std::optional<TextOutcome> outcome_;
};

}  // namespace

void write_in_order(Engine& engine, std::vector<TextRequest> requests, const ShownText& show) {
  std::vector<std::shared_ptr<Mailbox>> boxes;
  std::vector<Engine::Ticket> tickets;
  for (auto& request : requests) {
    const auto box = std::make_shared<Mailbox>();
    TextEvents events;
    events.wrote = [box](const std::string& bytes, std::span<const WrittenToken>) { box->write(bytes); };
    events.finished = [box](const TextOutcome& outcome) { box->finish(outcome); };
    tickets.push_back(engine.submit(std::move(request), std::move(events)));
    boxes.push_back(box);
  }
  for (size_t i = 0; i < boxes.size(); ++i) {
    std::optional<TextOutcome> outcome;
    while (!outcome) {
      std::string bytes;
      std::tie(bytes, outcome) = boxes[i]->take();
      if (!bytes.empty()) show.wrote(i, bytes);
    }
    if (outcome->reason == TextOutcome::failed) {
      for (const auto ticket : tickets) engine.cancel(ticket);
      fail("{}", outcome->error);
    }
    show.finished(i, *outcome);
  }
}

}  // namespace lact::tasks::lm
