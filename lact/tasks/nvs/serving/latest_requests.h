// Requests of several pages, of which only the newest of each counts.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "lact/tasks/nvs/serving/frame_request.h"

namespace lact::tasks::nvs {

/// A page has at most one request that waits, and at most one frame under way; a newer request takes the
/// place of the one that waits. Pages take turns. Every function may be called by any thread.
class LatestRequests {
 public:
  using Page = uint64_t;

  void open(Page page);
  void close(Page page);
  std::vector<Page> pages();

  /// Whether an older request was dropped for it.
  bool put(Page page, FrameRequest request);

  /// The request whose page has waited longest, of the pages whose last frame has arrived. Nothing after
  /// `timeout`.
  std::optional<std::pair<Page, FrameRequest>> take(std::chrono::milliseconds timeout);

  /// The frame, or the reason why there is none, has been sent: the page may have another one.
  void finish(Page page);

 private:
  struct Place {
    std::optional<FrameRequest> waiting;
    uint64_t since = 0;  ///< counts requests; a newer request keeps the turn of the one it replaces
    bool under_way = false;
  };

  std::map<Page, Place>::iterator next();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Page, Place> pages_;
  uint64_t clock_ = 0;
};

}  // namespace lact::tasks::nvs
