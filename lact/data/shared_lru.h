// What was used last stays in memory, up to a limit; for several threads.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace lact::data {

/// Values have bytes(). One that is in use lives on after it has left the cache.
template <class Key, class Value>
class SharedLru {
 public:
  explicit SharedLru(size_t max_bytes) : max_bytes_(max_bytes) {}

  /// The value of a key: make() gives a shared_ptr<const Value> unless it is still in memory. Others go on
  /// while it is made; should two threads make the same one, the first wins.
  template <class Make>
  std::shared_ptr<const Value> get(const Key& key, const Make& make) {
    {
      const std::lock_guard lock(mutex_);
      if (auto found = find_locked(key)) return found;
    }
    std::shared_ptr<const Value> made = make();
    const std::lock_guard lock(mutex_);
    if (auto found = find_locked(key)) return found;
    bytes_ += made->bytes();
    kept_.emplace_front(key, made);
    places_[key] = kept_.begin();
    while (bytes_ > max_bytes_ && kept_.size() > 1) {
      bytes_ -= kept_.back().second->bytes();
      places_.erase(kept_.back().first);
      kept_.pop_back();
    }
    return made;
  }

  size_t bytes() const {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }

 private:
  using Kept = std::list<std::pair<Key, std::shared_ptr<const Value>>>;

  std::shared_ptr<const Value> find_locked(const Key& key) {
    const auto place = places_.find(key);
    if (place == places_.end()) return nullptr;
    kept_.splice(kept_.begin(), kept_, place->second);
    return place->second->second;
  }

  const size_t max_bytes_;
  mutable std::mutex mutex_;
  Kept kept_;  ///< the one used last comes first
  std::map<Key, typename Kept::iterator> places_;
  size_t bytes_ = 0;
};

}  // namespace lact::data
