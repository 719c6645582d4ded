// States of texts, found again by their tokens: a prompt that begins as an earlier one did is not read twice.
// Kept in memory up to a budget; those that were not asked for the longest go to a folder, and then away.
// May be used from any thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "lact/tasks/lm/engine/state_files.h"

namespace lact::tasks::lm {

struct StateStoreOptions {
  int64_t store_ram_bytes = int64_t(1) << 30;
  std::string store_folder = {};
  int64_t store_folder_bytes = int64_t(8) << 30;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("store_ram_bytes", store_ram_bytes,
          "memory for states of texts that may be continued; 0 keeps none");
    field("store_folder", store_folder, "folder for states that leave memory; none: they are gone");
    field("store_folder_bytes", store_folder_bytes, "disk space for these");
  }
  bool operator==(const StateStoreOptions&) const = default;
};

struct StateStoreStatus {
  int64_t in_memory = 0, memory_bytes = 0;  ///< states and their bytes
  int64_t on_disk = 0, disk_bytes = 0;
  int64_t asked = 0, found = 0;  ///< questions for a prefix, and those that had one
};

class StateStore {
 public:
  /// Files of an earlier run are found again (state_files.h).
  StateStore(const Loaded& lm, const StateStoreOptions& options);
  ~StateStore();  ///< what is in memory goes to the folder, if there is one

  /// False if it is not kept, because it is larger than the whole budget.
  bool put(const TextState& state);

  /// By its id; null if it is not here any more.
  TextState get(const std::string& id);

  /// The state that has read the most of these tokens and nothing else, perhaps all of them. It may be a
  /// longer text without the tokens by which it strays, if these are of its last chunk. Null if there is
  /// none.
  TextState longest_prefix(std::span<const int64_t> tokens);

  /// In memory and on disk.
  void forget(const std::string& id);

  StateStoreStatus status() const;

 private:
  struct Entry {
    std::string id;
    models::TokenHistory history;
    int64_t position = 0;
    TextState state;         ///< null: not in memory
    int64_t bytes = 0;       ///< of `state`
    int64_t file_bytes = 0;  ///< 0: not on disk
    bool leaving = false;    ///< the writer has it: not in memory's budget any more, not yet on disk

    int64_t boundary() const { return position - int64_t(history.tail.size()); }
  };
  using Entries = std::list<Entry>;  // the most recently used first
  struct Match {
    Entries::iterator entry;
    int64_t position = 0;  ///< up to where it is to be used
  };

  Entries::iterator add(Entry entry);
  Entries::iterator find(const std::string& id);
  void erase(Entries::iterator entry);
  void hold(Entry& entry, TextState state);
  void let_go(Entry& entry);
  void make_room();
  void make_room_on_disk();
  Match best_match(std::span<const int64_t> tokens);
  int64_t usable_position(const Entry& entry, int64_t fitting) const;
  TextState up_to(const TextState& state, int64_t position) const;
  /// From disk if it has to be; null, and the entry is gone, if that fails.
  TextState use(Entries::iterator entry);
  void write_files();

  const Loaded lm_;
  const StateStoreOptions options_;
  const StateFiles files_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Entries entries_;
  std::multimap<std::string, Entries::iterator> by_boundary_;  ///< digest of the tokens before the tail
  std::deque<TextState> to_write_;
  StateStoreStatus status_;
  bool stopping_ = false;
  std::thread writer_;
};

}  // namespace lact::tasks::lm
