#include "lact/tasks/lm/engine/state_store.h"

#include <algorithm>

#include "lact/base/error.h"
#include "lact/base/log.h"

namespace lact::tasks::lm {

namespace {

/// States that wait for the disk keep their memory: where it is slower than they come, they are dropped.
constexpr size_t kMostWaiting = 4;

}  // namespace

StateStore::StateStore(const Loaded& lm, const StateStoreOptions& options)
    : lm_(lm), options_(options), files_(options.store_folder, lm) {
  LACT_CHECK(options.store_ram_bytes >= 0 && options.store_folder_bytes >= 0,
             "[states] budgets of {} and {} bytes, expected 0 or more", options.store_ram_bytes,
             options.store_folder_bytes);
  for (auto& found : files_.found()) {
    std::string id = found.history.id();
    add({std::move(id), std::move(found.history), found.position, nullptr, 0, found.bytes});
  }
  make_room_on_disk();
  if (files_.exist()) writer_ = std::thread([this] { write_files(); });
}

StateStore::~StateStore() {
  if (!writer_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    for (Entry& entry : entries_) {
      if (entry.state && entry.file_bytes == 0 && !entry.leaving) to_write_.push_back(entry.state);
    }
    stopping_ = true;
  }
  changed_.notify_all();
  writer_.join();
}

bool StateStore::put(const TextState& state) {
  LACT_CHECK(state != nullptr && state->model == lm_.model, "[states] the state is of another model");
  if (state->position() == 0 || state->bytes() > options_.store_ram_bytes) return false;
  const std::lock_guard lock(mutex_);
  auto entry = find(state->id);
  if (entry == entries_.end()) entry = add({state->id, state->memory.history, state->position(), nullptr});
  entries_.splice(entries_.begin(), entries_, entry);
  if (!entry->state) hold(*entry, compacted(state));
  make_room();
  return true;
}

TextState StateStore::get(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto entry = find(id);
  return entry == entries_.end() ? nullptr : use(entry);
}

TextState StateStore::longest_prefix(std::span<const int64_t> tokens) {
  const std::lock_guard lock(mutex_);
  ++status_.asked;
  const auto [entry, position] = best_match(tokens);
  if (position == 0) return nullptr;
  const TextState whole = use(entry);
  const TextState found = whole ? up_to(whole, position) : nullptr;
  status_.found += found != nullptr;
  return found;
}

TextState StateStore::use(Entries::iterator entry) {
  entries_.splice(entries_.begin(), entries_, entry);
  if (!entry->state) {
    const TextState read = files_.read(entry->id);
    if (!read) {
      erase(entry);
      return nullptr;
    }
    hold(*entry, compacted(read));
  }
  const TextState state = entry->state;
  make_room();
  return state;
}

/// The last chunk that an entry shares with the tokens decides; inside of it the longest common part.
StateStore::Match StateStore::best_match(std::span<const int64_t> tokens) {
  const auto chunk = size_t(lm_.model->config().chunk_size);
  std::vector<std::string> digests = {""};
  for (size_t begin = 0; begin + chunk <= tokens.size(); begin += chunk) {
    digests.push_back(models::extended_digest(digests.back(), tokens.subspan(begin, chunk)));
  }
  for (size_t chunks = digests.size(); chunks-- > 0;) {
    Match best = {entries_.end()};
    const auto rest = tokens.subspan(chunks * chunk);
    const auto [begin, end] = by_boundary_.equal_range(digests[chunks]);
    for (auto candidate = begin; candidate != end; ++candidate) {
      const Entry& entry = *candidate->second;
      if (entry.boundary() != int64_t(chunks * chunk)) continue;
      const auto& tail = entry.history.tail;
      const auto [differs, unused] = std::mismatch(tail.begin(), tail.end(), rest.begin(), rest.end());
      const int64_t usable = usable_position(entry, differs - tail.begin());
      if (usable > best.position) best = {candidate->second, usable};
    }
    if (best.position > 0) return best;
  }
  return {entries_.end()};
}

int64_t StateStore::usable_position(const Entry& entry, int64_t fitting) const {
  if (fitting == int64_t(entry.history.tail.size())) return entry.position;
  if (lm_.model->config().forgets_by_token()) return entry.boundary() + fitting;
  // Reading its tail again would be no better than reading the tokens themselves.
  return entry.state && entry.state->memory.boundary ? entry.boundary() : 0;
}

TextState StateStore::up_to(const TextState& state, int64_t position) const {
  const int64_t strayed = state->position() - position;
  if (strayed == 0) return state;
  if (const auto& boundary = state->memory.boundary; boundary && boundary->position() == position) {
    return std::make_shared<const Snapshot>(Snapshot{boundary->history.id(), boundary->clone(), lm_.model});
  }
  return strayed <= forgettable(state, lm_) ? rolled_back(state, strayed, lm_) : nullptr;
}

void StateStore::forget(const std::string& id) {
  const std::lock_guard lock(mutex_);
  if (const auto entry = find(id); entry != entries_.end()) {
    files_.remove(id);
    erase(entry);
  }
}

StateStoreStatus StateStore::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

StateStore::Entries::iterator StateStore::add(Entry entry) {
  entries_.push_front(std::move(entry));
  by_boundary_.emplace(entries_.front().history.before, entries_.begin());
  status_.on_disk += entries_.front().file_bytes > 0;
  status_.disk_bytes += entries_.front().file_bytes;
  return entries_.begin();
}

StateStore::Entries::iterator StateStore::find(const std::string& id) {
  return std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.id == id; });
}

void StateStore::erase(Entries::iterator entry) {
  if (entry->state && !entry->leaving) let_go(*entry);
  status_.on_disk -= entry->file_bytes > 0;
  status_.disk_bytes -= entry->file_bytes;
  const auto [begin, end] = by_boundary_.equal_range(entry->history.before);
  by_boundary_.erase(std::find_if(begin, end, [&](const auto& known) { return known.second == entry; }));
  entries_.erase(entry);
}

void StateStore::hold(Entry& entry, TextState state) {
  entry.bytes = state->bytes();
  entry.state = std::move(state);
  status_.memory_bytes += entry.bytes;
  ++status_.in_memory;
}

void StateStore::let_go(Entry& entry) {
  status_.memory_bytes -= entry.bytes;
  --status_.in_memory;
  entry.state = nullptr;
  entry.bytes = 0;
}

void StateStore::make_room() {
  while (status_.memory_bytes > options_.store_ram_bytes) {
    const auto oldest = std::find_if(entries_.rbegin(), entries_.rend(),
                                     [](const Entry& entry) { return entry.state && !entry.leaving; });
    LACT_ASSERT(oldest != entries_.rend());
    const TextState state = oldest->state;
    let_go(*oldest);
    if (oldest->file_bytes > 0) continue;
    if (files_.exist() && to_write_.size() < kMostWaiting) {
      oldest->state = state;  // until it is on disk
      oldest->leaving = true;
      to_write_.push_back(state);
      changed_.notify_all();
    } else {
      erase(std::prev(oldest.base()));
    }
  }
}

void StateStore::make_room_on_disk() {
  while (status_.disk_bytes > options_.store_folder_bytes) {
    const auto oldest = std::find_if(entries_.rbegin(), entries_.rend(),
                                     [](const Entry& entry) { return entry.file_bytes > 0; });
    LACT_ASSERT(oldest != entries_.rend());
    files_.remove(oldest->id);
    status_.disk_bytes -= oldest->file_bytes;
    --status_.on_disk;
    oldest->file_bytes = 0;
    if (!oldest->state) erase(std::prev(oldest.base()));
  }
}

void StateStore::write_files() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || !to_write_.empty(); });
    if (to_write_.empty()) return;
    const TextState state = to_write_.front();
    lock.unlock();
    int64_t bytes = 0;
    try {
      bytes = files_.write(state);
    } catch (const std::exception& error) {
      log::warn("{}", error.what());
    }
    lock.lock();
    to_write_.pop_front();
    const auto entry = find(state->id);
    if (entry == entries_.end()) {  // forgotten meanwhile
      files_.remove(state->id);
      continue;
    }
    if (entry->leaving) entry->state = nullptr;
    entry->leaving = false;
    entry->file_bytes = bytes;
    status_.on_disk += bytes > 0;
    status_.disk_bytes += bytes;
    if (!entry->state && bytes == 0) erase(entry);
    make_room_on_disk();
  }
}

}  // namespace lact::tasks::lm
