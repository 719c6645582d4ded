#include "lact/train/run_folder.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

#include "lact/io/atomic_file.h"
#include "lact/io/file_lock.h"

namespace lact::train {

namespace fs = std::filesystem;

namespace {

/// Takes digits off the end of `text`; nothing if there are none.
std::optional<int64_t> take_number(std::string_view& text) {
  const size_t begin = text.find_last_not_of("0123456789") + 1;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data() + begin, text.data() + text.size(), number);
  if (begin == text.size() || error != std::errc()) return std::nullopt;
  text = text.substr(0, begin);
  return number;
}

bool take(std::string_view& text, std::string_view end) {
  if (!text.ends_with(end)) return false;
  text.remove_suffix(end.size());
  return true;
}

/// The process that a file of io::AtomicFile belongs to, by its name: "<file>.<process>-<number>.tmp".
std::optional<int64_t> writer_of(std::string_view name) {
  if (!take(name, ".tmp") || !take_number(name) || !take(name, "-")) return std::nullopt;
  const auto process = take_number(name);
  return name.ends_with('.') ? process : std::nullopt;
}

bool is_other_living_process(int64_t process) {
  return process != getpid() && (kill(pid_t(process), 0) == 0 || errno == EPERM);
}

/// Temporary files of processes that are no more. Another that lives may be writing latents that it shares.
void remove_leftovers(const std::string& folder) {
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied, error), end;
  std::vector<fs::path> leftovers;
  for (; !error && entry != end; entry.increment(error)) {
    const auto process = writer_of(entry->path().filename().native());
    std::error_code ignored;
    if (process && fs::is_regular_file(entry->symlink_status(ignored)) && !is_other_living_process(*process))
      leftovers.push_back(entry->path());
  }
  for (const fs::path& file : leftovers) fs::remove(file, error);
}

}  // namespace

RunLock::RunLock(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  LACT_CHECK(!error, "{}: cannot be created: {}", folder, error.message());
  const std::string file = (fs::path(folder) / "run.lock").string();
  descriptor_ = io::open_locked(file, folder + ": another process trains in this folder");
  remove_leftovers(folder);
}

RunLock::~RunLock() { close(descriptor_); }

std::string run_file(const std::string& folder) { return (fs::path(folder) / "run.json").string(); }

void check_no_run(const std::string& folder) {
  LACT_CHECK(!fs::exists(run_file(folder)),
             "{}: holds a run already; continue it with --resume, or choose another folder", folder);
}

void check_has_run(const std::string& folder) {
  LACT_CHECK(fs::exists(run_file(folder)), "{}: holds no run to resume: run.json is missing", folder);
}

void write_run_json(const std::string& folder, const options::Json& json) {
  const std::string text = json.dump(2) + "\n";
  io::write_file_atomically(run_file(folder), [&](io::FileWriter& out) { out.write(text); });
}

options::Json read_run_json(const std::string& folder) {
  options::Json json = options::read_json_file(run_file(folder));
  // Runs of earlier versions know only blocks, as a yes or no.
  if (const auto found = json.find("recompute"); found != json.end() && found->is_boolean()) {
    *found = found->get<bool>() ? "blocks" : "none";
  }
  // And their learning rate fell along a cosine, whatever the task's default is now.
  if (const auto training = json.find("training"); training != json.end() && training->is_object()) {
    if (!training->contains("rate_decay")) (*training)["rate_decay"] = "cosine";
  }
  return json;
}

void make_absolute(std::vector<std::string>& paths) {
  for (auto& path : paths) make_absolute(path);
}

void make_absolute(std::string& path, const std::string& built_in) {
  if (!path.empty() && path != built_in) path = fs::absolute(path).lexically_normal().string();
}

}  // namespace lact::train
