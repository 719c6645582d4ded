#include "lact/io/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "lact/base/error.h"
#include "lact/base/format.h"

namespace lact::io {

namespace {

constexpr size_t kLongestComplaint = 400;
constexpr off_t kKeptComplaints = 4096, kMostComplaints = 1 << 16;

/// The file actions and attributes of posix_spawn, freed in the end.
struct SpawnSettings {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;

  SpawnSettings() {
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
};

std::string bytes_at(int descriptor, off_t begin, size_t count) {
  std::string text(count, '\0');
  const ssize_t got = pread(descriptor, text.data(), text.size(), begin);
  text.resize(got > 0 ? size_t(got) : 0);
  return text;
}

}  // namespace

ChildProcess::~ChildProcess() {
  if (running()) {
    kill(-process_, SIGKILL);  // a group: start() made it one
    wait_for_end();
  }
  end_stream();
  if (messages_ >= 0) close(messages_);
}

int ChildProcess::start(std::vector<std::string> words, const Surroundings& surroundings) {
  LACT_ASSERT(!words.empty() && stream_ < 0);
  LACT_ASSERT(surroundings.input < 0 || direction_ == Direction::we_read);
  // Writing into a socket, unlike a pipe, can do without the signal that would end our program.
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return errno;
  stream_ = ends[0];
  messages_ = memfd_create("complaints", MFD_CLOEXEC);
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const bool we_write = direction_ == Direction::we_write;
  const int theirs = we_write ? STDIN_FILENO : STDOUT_FILENO;
  const int unused = we_write ? STDOUT_FILENO : STDIN_FILENO;
  SpawnSettings settings;
  posix_spawn_file_actions_adddup2(&settings.files, ends[1], theirs);
  if (surroundings.input >= 0) {
    posix_spawn_file_actions_adddup2(&settings.files, surroundings.input, unused);
  } else {
    posix_spawn_file_actions_addopen(&settings.files, unused, "/dev/null", we_write ? O_WRONLY : O_RDONLY, 0);
  }
  if (!surroundings.folder.empty()) {
    posix_spawn_file_actions_addchdir_np(&settings.files, surroundings.folder.c_str());
  }
  if (messages_ >= 0) {
    posix_spawn_file_actions_adddup2(&settings.files, messages_, STDERR_FILENO);
  } else {
    posix_spawn_file_actions_addopen(&settings.files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  }
  // In a group of its own: Ctrl-C in the terminal is for us to handle.
  posix_spawnattr_setflags(&settings.attributes, POSIX_SPAWN_SETPGROUP);
  const int error =
      posix_spawnp(&process_, arguments[0], &settings.files, &settings.attributes, arguments.data(), environ);
  close(ends[1]);
  if (error != 0) process_ = -1;
  return error;
}

bool ChildProcess::write(const void* bytes, size_t count) {
  const auto* next = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t sent = send(stream_, next, count, MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) return false;
    if (sent > 0) next += sent, count -= size_t(sent);
  }
  return true;
}

size_t ChildProcess::read(void* bytes, size_t count) {
  forget_old_complaints();
  auto* next = static_cast<char*>(bytes);
  size_t filled = 0;
  while (filled < count) {
    const ssize_t got = recv(stream_, next + filled, count - filled, 0);
    if (got == 0 || (got < 0 && errno != EINTR)) break;
    if (got > 0) filled += size_t(got);
  }
  return filled;
}

bool ChildProcess::has_output(std::chrono::milliseconds wait) const {
  pollfd stream = {stream_, POLLIN, 0};
  return poll(&stream, 1, int(wait.count())) > 0;
}

bool ChildProcess::finish() {
  end_stream();
  if (!running()) return false;
  const int status = wait_for_end();
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void ChildProcess::end_stream() {
  if (stream_ >= 0) close(std::exchange(stream_, -1));
}

int ChildProcess::wait_for_end() {
  int status = 0;
  while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  return status;
}

/// A damaged file may be complained of for hours: all but the end is given back to the system.
void ChildProcess::forget_old_complaints() {
  struct stat status = {};
  if (messages_ < 0 || fstat(messages_, &status) != 0 || status.st_blocks * 512 < kMostComplaints) return;
  fallocate(messages_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, status.st_size - kKeptComplaints);
}

std::string ChildProcess::first_complaints() const {
  return messages_ < 0 ? "" : as_one_line(bytes_at(messages_, 0, kLongestComplaint));
}

std::string ChildProcess::last_complaint() const {
  struct stat status = {};
  if (messages_ < 0 || fstat(messages_, &status) != 0) return "";
  const off_t begin = std::max<off_t>(0, status.st_size - kKeptComplaints);
  return last_line(bytes_at(messages_, begin, size_t(kKeptComplaints)), kLongestComplaint);
}

}  // namespace lact::io
