#include "lact/tasks/nvs/serving/latest_requests.h"

namespace lact::tasks::nvs {

void LatestRequests::open(Page page) {
  const std::lock_guard lock(mutex_);
  pages_[page] = {};
}

void LatestRequests::close(Page page) {
  const std::lock_guard lock(mutex_);
  pages_.erase(page);
}

std::vector<LatestRequests::Page> LatestRequests::pages() {
  const std::lock_guard lock(mutex_);
  std::vector<Page> open;
  for (const auto& [page, place] : pages_) open.push_back(page);
  return open;
}

bool LatestRequests::put(Page page, FrameRequest request) {
  const std::lock_guard lock(mutex_);
  const auto found = pages_.find(page);
  if (found == pages_.end()) return false;
  Place& place = found->second;
  const bool replaces = place.waiting.has_value();
  if (!replaces) place.since = ++clock_;
  place.waiting = std::move(request);
  changed_.notify_one();
  return replaces;
}

std::optional<std::pair<LatestRequests::Page, FrameRequest>> LatestRequests::take(
    std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, timeout, [&] { return next() != pages_.end(); })) return std::nullopt;
  const auto chosen = next();
  Place& place = chosen->second;
  place.under_way = true;
  std::pair<Page, FrameRequest> result(chosen->first, std::move(*place.waiting));
  place.waiting.reset();
  return result;
}

void LatestRequests::finish(Page page) {
  const std::lock_guard lock(mutex_);
  const auto found = pages_.find(page);
  if (found == pages_.end()) return;
  found->second.under_way = false;
  changed_.notify_one();
}

std::map<LatestRequests::Page, LatestRequests::Place>::iterator LatestRequests::next() {
  auto best = pages_.end();
  for (auto page = pages_.begin(); page != pages_.end(); ++page) {
    const Place& place = page->second;
    if (!place.waiting || place.under_way) continue;
    if (best == pages_.end() || place.since < best->second.since) best = page;
  }
  return best;
}

}  // namespace lact::tasks::nvs
