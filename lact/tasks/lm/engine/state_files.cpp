#include "lact/tasks/lm/engine/state_files.h"

#include <algorithm>
#include <filesystem>

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/io/sha256.h"
#include "lact/models/lm/memory_file.h"

namespace lact::tasks::lm {

namespace {

namespace fs = std::filesystem;

constexpr const char* kEnding = ".mem";

/// What a folder holds; nothing if it cannot be read.
std::vector<fs::directory_entry> files_in(const std::string& folder) {
  std::vector<fs::directory_entry> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_regular_file(ignored)) files.push_back(*entry);
  }
  const auto written = [](const fs::directory_entry& file) {
    std::error_code ignored;
    return file.last_write_time(ignored);
  };
  std::sort(files.begin(), files.end(),
            [&](const auto& a, const auto& b) { return written(a) < written(b); });
  return files;
}

}  // namespace

StateFiles::StateFiles(const std::string& folder, const Loaded& lm) : lm_(lm) {
  if (folder.empty()) return;
  LACT_CHECK(!lm.fingerprint.empty(),
             "[states] {}: the model has no fingerprint, by which its files are known", folder);
  folder_ = (fs::path(folder) / lm.fingerprint).string();
  std::error_code error;
  fs::create_directories(folder_, error);
  LACT_CHECK(!error, "{}: the folder cannot be made ({})", folder_, error.message());
}

std::string StateFiles::path_of(const std::string& id) const {
  return (fs::path(folder_) / (id + kEnding)).string();
}

std::vector<StateFiles::Found> StateFiles::found() const {
  std::vector<Found> all;
  if (!exist()) return all;
  for (const auto& file : files_in(folder_)) {
    const std::string path = file.path().string(), name = file.path().stem().string();
    if (file.path().extension() != kEnding || !io::is_sha256_hex(name)) continue;  // someone else's
    try {
      auto label = models::read_memory_label(path, *lm_.model, lm_.fingerprint);
      LACT_CHECK(label.history.id() == name, "{}: holds another text than its name says", path);
      all.push_back({std::move(label.history), label.position, int64_t(file.file_size())});
    } catch (const std::exception& error) {
      log::warn("{}", error.what());
    }
  }
  return all;
}

int64_t StateFiles::write(const TextState& state) const {
  const std::string path = path_of(state->id);
  save_text_state(path, state, lm_);
  return int64_t(fs::file_size(path));
}

TextState StateFiles::read(const std::string& id) const {
  try {
    const TextState state = load_text_state(path_of(id), lm_);
    LACT_CHECK(state->id == id, "{}: holds another text than its name says", path_of(id));
    return state;
  } catch (const std::exception& error) {
    log::warn("{}", error.what());
    return nullptr;
  }
}

void StateFiles::remove(const std::string& id) const {
  std::error_code ignored;
  fs::remove(path_of(id), ignored);
}

}  // namespace lact::tasks::lm
