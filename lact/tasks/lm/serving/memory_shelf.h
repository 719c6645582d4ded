// What the model remembers of texts, under names that clients gave: kept in memory, and as files in a folder
// if there is one, from which they are known again when the server starts the next time.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "lact/tasks/lm/engine/text_state.h"

namespace lact::tasks::lm {

struct MemoryShelfOptions {
  int64_t ram_bytes = int64_t{1} << 30;
  std::string folder = {};  ///< "": in memory alone
  int64_t folder_bytes = int64_t{4} << 30;
};

struct MemoryInfo {
  std::string name;
  int64_t tokens = 0;   ///< read so far
  int64_t bytes = 0;    ///< of the state
  int64_t created = 0;  ///< seconds since 1970
  bool in_ram = false, on_disk = false;
};

/// May be used from any thread; files are read and written under its lock. Mistakes are ApiErrors: 400 for a
/// name that is none, 404 for one that is not there, 409 for one that is, 507 where no room is left.
class MemoryShelf {
 public:
  MemoryShelf(const Loaded& lm, MemoryShelfOptions options);

  MemoryInfo put(const std::string& name, const TextState& state, bool replace);
  /// A memory file's bytes, which are checked as files are.
  MemoryInfo put_file(const std::string& name, const std::string& bytes, bool replace);

  TextState get(const std::string& name);
  std::string file_bytes(const std::string& name);
  MemoryInfo info(const std::string& name) const;
  std::vector<MemoryInfo> list() const;
  void remove(const std::string& name);

  int64_t ram_bytes_used() const;

 private:
  struct Entry {
    MemoryInfo info;
    TextState state;  ///< null: only on disk
    int64_t used = 0;
  };

  void find_files();
  std::string path_of(const std::string& name) const;
  Entry& entry_of(const std::string& name);
  const Entry& entry_of(const std::string& name) const;
  int64_t bytes_in_ram() const;
  int64_t bytes_on_disk() const;
  /// Those on disk leave memory, the one that was not used for the longest first; the entry `kept` stays.
  void make_room(const std::string& kept);

  const Loaded lm_;
  const MemoryShelfOptions options_;
  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;
  int64_t clock_ = 0;
};

/// Letters, digits, '.', '_' and '-', 1 to 64 of them, and no '.' at the beginning: a file name that stays in
/// its folder. Otherwise an ApiError that begins with `what`.
void check_memory_name(const std::string& name, const std::string& what = "name");

/// A memory file's bytes, by way of a file in the folder for temporary ones.
std::string memory_file_bytes(const TextState& state, const Loaded& lm);

}  // namespace lact::tasks::lm
