#include "lact/base/started_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>

#include "lact/base/error.h"
#include "lact/base/format.h"

namespace lact {

namespace {

constexpr int64_t kEndOfLog = 4096;
constexpr size_t kLongestLastWords = 400;

/// Our variables, and `own` in their place or in addition.
std::vector<std::string> with_our_variables(std::vector<std::string> own) {
  const size_t count = own.size();
  for (char** ours = environ; *ours != nullptr; ++ours) {
    const std::string_view variable = *ours, name = variable.substr(0, variable.find('=') + 1);
    const auto replaced = [&](const std::string& other) { return other.starts_with(name); };
    if (std::none_of(own.begin(), own.begin() + std::ptrdiff_t(count), replaced)) own.emplace_back(variable);
  }
  return own;
}

std::vector<char*> as_pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (auto& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// What the child does with the streams, signals and words that the parent has got ready. After fork() in
/// a program with threads only calls are allowed that a signal handler may make.
struct ChildStart {
  const char* program;
  char *const *words, *const *variables;
  int log, output, nothing;  // descriptors, or -1
  pid_t parent;
  sigset_t signals;  // those that are blocked in the program

  /// Only returns, with the reason, where the program cannot be run.
  int run() const {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(128 + SIGKILL);  // it was too late for that
    for (int signal = 1; signal < NSIG; ++signal) {
      struct sigaction action = {};
      if (sigaction(signal, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
      action.sa_flags = 0;
      action.sa_handler = SIG_DFL;
      sigaction(signal, &action, nullptr);
    }
    if (log >= 0 && (dup2(nothing, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
                     dup2(log, STDERR_FILENO) < 0)) {
      return errno;
    }
    sigprocmask(SIG_SETMASK, &signals, nullptr);
    execve(program, words, variables);
    return errno;
  }
};

/// A descriptor that is closed in the end; the program that is started does not get it.
struct OpenedFile {
  int descriptor;

  OpenedFile(const std::string& path, int flags) : descriptor(open(path.c_str(), flags | O_CLOEXEC, 0666)) {
    LACT_CHECK(descriptor >= 0, "{} cannot be opened: {}", path, std::generic_category().message(errno));
  }
  ~OpenedFile() { close(descriptor); }
  OpenedFile(const OpenedFile&) = delete;
  OpenedFile& operator=(const OpenedFile&) = delete;
};

int64_t size_of(int descriptor) {
  struct stat status = {};
  return fstat(descriptor, &status) == 0 ? int64_t(status.st_size) : 0;
}

}  // namespace

StartedProcess::StartedProcess(const ProcessCommand& command) : log_(command.log) {
  LACT_ASSERT(command.output.empty() || !command.log.empty());
  auto words = command.words, variables = with_our_variables(command.variables);
  const auto word_pointers = as_pointers(words), variable_pointers = as_pointers(variables);
  const OpenedFile nothing("/dev/null", O_RDONLY);
  const OpenedFile log(log_.empty() ? "/dev/null" : log_, O_WRONLY | O_APPEND | O_CREAT);
  const std::string& output_file = command.output.empty() ? log_ : command.output;
  const OpenedFile output(output_file.empty() ? "/dev/null" : output_file,
                          O_WRONLY | O_CREAT | (command.output.empty() ? O_APPEND : O_TRUNC));
  log_begin_ = size_of(log.descriptor);
  ChildStart child = {.program = command.program.c_str(),
                      .words = word_pointers.data(),
                      .variables = variable_pointers.data(),
                      .log = log_.empty() ? -1 : log.descriptor,
                      .output = output.descriptor,
                      .nothing = nothing.descriptor,
                      .parent = getpid(),
                      .signals = {}};
  // The child tells why it cannot start through a pipe that a successful start closes.
  int ends[2];
  LACT_CHECK(pipe2(ends, O_CLOEXEC) == 0, "a pipe cannot be made: {}",
             std::generic_category().message(errno));
  // No handler of ours may run in the child: what arrives there before it starts is for the program.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &child.signals);
  process_ = fork();
  int error = process_ < 0 ? errno : 0;
  if (process_ == 0) {
    error = child.run();
    [[maybe_unused]] const ssize_t told = write(ends[1], &error, sizeof(error));
    _exit(127);
  }
  pthread_sigmask(SIG_SETMASK, &child.signals, nullptr);
  close(ends[1]);
  while (process_ > 0 && read(ends[0], &error, sizeof(error)) < 0 && errno == EINTR) {
  }
  close(ends[0]);
  if (error == 0) return;
  if (process_ > 0) waitpid(process_, nullptr, 0);
  fail("{} cannot be started: {}", command.program, std::generic_category().message(error));
}

StartedProcess::~StartedProcess() {
  if (ended_) return;
  send(SIGKILL);
  while (waitpid(process_, &status_, 0) < 0 && errno == EINTR) {
  }
}

bool StartedProcess::has_ended() {
  if (!ended_) ended_ = waitpid(process_, &status_, WNOHANG) == process_;
  return ended_;
}

void StartedProcess::send(int signal) const {
  if (!ended_) kill(process_, signal);
}

int StartedProcess::exit_code() const {
  LACT_ASSERT(ended_);
  return WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_);
}

std::string StartedProcess::ending() const {
  LACT_ASSERT(ended_);
  if (!WIFSIGNALED(status_)) return fmt::format("ended with exit code {}", WEXITSTATUS(status_));
  return fmt::format("was killed by signal {} ({})", WTERMSIG(status_), strsignal(WTERMSIG(status_)));
}

std::string StartedProcess::last_words() const {
  if (log_.empty()) return "";
  const int log = open(log_.c_str(), O_RDONLY | O_CLOEXEC);
  if (log < 0) return "";  // somebody has removed it
  const int64_t end = size_of(log), begin = std::max(log_begin_, end - kEndOfLog);
  std::string text(size_t(std::max<int64_t>(0, end - begin)), '\0');
  const ssize_t got = pread(log, text.data(), text.size(), off_t(begin));
  text.resize(got > 0 ? size_t(got) : 0);
  close(log);
  return last_line(text, kLongestLastWords);
}

}  // namespace lact
