#include "lact/tasks/lm/serving/memory_shelf.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/io/atomic_file.h"
#include "lact/io/safetensors.h"
#include "lact/io/temporary_folder.h"
#include "lact/tasks/lm/serving/api_error.h"

namespace lact::tasks::lm {

namespace {

namespace fs = std::filesystem;

constexpr const char* kMemoryEnding = ".mem";
constexpr size_t kLongestName = 64;
constexpr size_t kMostMemories = 10'000;

int64_t seconds_since_1970() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string bytes_of_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  LACT_CHECK(stream.good(), "{}: cannot be read", path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

void check_memory_name(const std::string& name, const std::string& what) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  const bool fits = !name.empty() && name.size() <= kLongestName && name.front() != '.' &&
                    std::all_of(name.begin(), name.end(), allowed);
  if (!fits) {
    refuse_request(400, "{} has to be 1 to {} letters, digits, '.', '_' or '-', and not begin with '.'", what,
                   kLongestName);
  }
}

std::string memory_file_bytes(const TextState& state, const Loaded& lm) {
  const io::TemporaryFolder folder;
  const std::string file = folder.path() + "/memory";
  save_text_state(file, state, lm);
  return bytes_of_file(file);
}

MemoryShelf::MemoryShelf(const Loaded& lm, MemoryShelfOptions options)
    : lm_(lm), options_(std::move(options)) {
  if (options_.folder.empty()) return;
  std::error_code error;
  fs::create_directories(options_.folder, error);
  LACT_CHECK(!error, "{}: the folder cannot be made ({})", options_.folder, error.message());
  find_files();
}

void MemoryShelf::find_files() {
  for (const auto& file : fs::directory_iterator(options_.folder)) {
    const std::string name = file.path().stem().string();
    if (!file.is_regular_file() || file.path().extension() != kMemoryEnding) continue;
    try {
      check_memory_name(name);
      const auto metadata = io::read_safetensors_metadata(file.path().string());
      const auto found = [&](const char* key) {
        const auto place = metadata.find(key);
        LACT_CHECK(place != metadata.end(), "{}: not a memory file", file.path().string());
        return place->second;
      };
      LACT_CHECK(found("model") == lm_.fingerprint, "{}: a memory of another model", file.path().string());
      Entry entry;
      entry.info = {name, std::stoll(found("tokens")), int64_t(file.file_size()), seconds_since_1970(), false,
                    true};
      entries_[name] = std::move(entry);
    } catch (const std::exception& error) {
      log::warn("{}; it is passed over", error.what());
    }
  }
}

std::string MemoryShelf::path_of(const std::string& name) const {
  return (fs::path(options_.folder) / (name + kMemoryEnding)).string();
}

const MemoryShelf::Entry& MemoryShelf::entry_of(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found != entries_.end()) return found->second;
  check_memory_name(name, "the memory's name");
  refuse_request(404, "There is no memory \"{}\"", name);
}

MemoryShelf::Entry& MemoryShelf::entry_of(const std::string& name) {
  return const_cast<Entry&>(static_cast<const MemoryShelf&>(*this).entry_of(name));
}

int64_t MemoryShelf::bytes_in_ram() const {
  int64_t bytes = 0;
  for (const auto& [name, entry] : entries_) bytes += entry.state ? entry.info.bytes : 0;
  return bytes;
}

int64_t MemoryShelf::bytes_on_disk() const {
  int64_t bytes = 0;
  for (const auto& [name, entry] : entries_) bytes += entry.info.on_disk ? entry.info.bytes : 0;
  return bytes;
}

void MemoryShelf::make_room(const std::string& kept) {
  while (bytes_in_ram() > options_.ram_bytes) {
    Entry* oldest = nullptr;
    for (auto& [name, entry] : entries_) {
      const bool may_leave = entry.state && entry.info.on_disk && name != kept;
      if (may_leave && (oldest == nullptr || entry.used < oldest->used)) oldest = &entry;
    }
    if (oldest == nullptr) return;
    oldest->state = nullptr;
  }
}

MemoryInfo MemoryShelf::put(const std::string& name, const TextState& state, bool replace) {
  check_memory_name(name);
  if (!state) refuse_request(400, "There is nothing to remember: nothing was read");
  const std::lock_guard lock(mutex_);
  const auto old = entries_.find(name);
  if (old != entries_.end() && !replace) {
    refuse_request(409, "There is a memory \"{}\" already; \"replace\": true replaces it", name);
  }
  if (old == entries_.end() && entries_.size() >= kMostMemories) {
    refuse_request(507, "There are {} memories already, which is as many as may be", entries_.size());
  }
  const int64_t bytes = state->bytes(), freed = old == entries_.end() ? 0 : old->second.info.bytes;
  const bool on_disk = !options_.folder.empty();
  const int64_t budget = on_disk ? options_.folder_bytes : options_.ram_bytes;
  const int64_t used = on_disk ? bytes_on_disk() : bytes_in_ram();
  if (used - freed + bytes > budget) {
    refuse_request(507, "The memory has {} bytes, but of {} for memories only {} are left", bytes, budget,
                   std::max<int64_t>(0, budget - used + freed));
  }
  Entry entry;
  entry.info = {name, state->position(), bytes, seconds_since_1970(), true, on_disk};
  entry.state = compacted(state);
  entry.used = ++clock_;
  if (on_disk) save_text_state(path_of(name), state, lm_);
  entries_[name] = entry;
  make_room(name);
  return entry.info;
}

MemoryInfo MemoryShelf::put_file(const std::string& name, const std::string& bytes, bool replace) {
  check_memory_name(name);
  const io::TemporaryFolder folder;
  const std::string file = folder.path() + "/memory";
  io::write_file_atomically(file, [&](io::FileWriter& writer) { writer.write(bytes); });
  TextState state;
  try {
    state = load_text_state(file, lm_);
  } catch (const Error& error) {
    // Its name here means nothing to the client.
    std::string sentence = error.what();
    if (const size_t place = sentence.find(file); place != std::string::npos) {
      sentence.replace(place, file.size(), "the file");
    }
    throw ApiError(400, sentence);
  }
  return put(name, state, replace);
}

TextState MemoryShelf::get(const std::string& name) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entry_of(name);
  entry.used = ++clock_;
  if (!entry.state) {
    entry.state = compacted(load_text_state(path_of(name), lm_));
    entry.info.bytes = entry.state->bytes();
    const TextState state = entry.state;
    make_room(name);
    return state;
  }
  return entry.state;
}

std::string MemoryShelf::file_bytes(const std::string& name) {
  {
    const std::lock_guard lock(mutex_);
    if (entry_of(name).info.on_disk) return bytes_of_file(path_of(name));
  }
  return memory_file_bytes(get(name), lm_);
}

MemoryInfo MemoryShelf::info(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const Entry& entry = entry_of(name);
  MemoryInfo info = entry.info;
  info.in_ram = entry.state != nullptr;
  return info;
}

std::vector<MemoryInfo> MemoryShelf::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<MemoryInfo> all;
  for (const auto& [name, entry] : entries_) {
    all.push_back(entry.info);
    all.back().in_ram = entry.state != nullptr;
  }
  return all;
}

void MemoryShelf::remove(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (entry_of(name).info.on_disk) {
    std::error_code error;
    fs::remove(path_of(name), error);
    if (error) refuse_request(500, "The file of memory \"{}\" cannot be removed", name);
  }
  entries_.erase(name);
}

int64_t MemoryShelf::ram_bytes_used() const {
  const std::lock_guard lock(mutex_);
  return bytes_in_ram();
}

}  // namespace lact::tasks::lm
