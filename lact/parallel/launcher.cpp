#include "lact/parallel/launcher.h"

#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <system_error>

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/base/threads.h"
#include "lact/parallel/environment.h"
#include "lact/parallel/job.h"
#include "lact/parallel/log_folder.h"

namespace lact::parallel {

namespace {

constexpr int kMistakeOfTheCaller = 2;
constexpr int64_t kLastPort = 65535;

/// One start of the job after the other, all with the same logs.
class Launcher {
 public:
  Launcher(const LaunchOptions& options, const LaunchWords& words)
      : options_(options),
        words_(words),
        first_rank_(options.node * options.processes),
        inbox_({SIGCHLD, SIGINT, SIGTERM, SIGHUP}) {
    const int64_t first = std::max<int64_t>(1, first_rank_), last = first_rank_ + options.processes - 1;
    if (last == 0) return;
    logs_.emplace(options.log_folder);
    for (int64_t rank = first; rank <= last; ++rank) logs_->clear(rank);
    log::info("the output of {} goes to {}",
              first == last ? fmt::format("rank {}", last) : fmt::format("ranks {} to {}", first, last),
              logs_->path());
  }

  int run() {
    for (int64_t restart = 0;; ++restart) {
      const Job::Outcome outcome = Job(commands(restart), first_rank_, options_.grace, inbox_).run();
      const bool again = outcome.failed && !outcome.interrupted && outcome.exit_code != kMistakeOfTheCaller;
      if (again && restart < options_.restarts) {
        log::warn("starting all ranks again, {} of {} times", restart + 1, options_.restarts);
        continue;
      }
      if (logs_ && outcome.failed) {
        logs_->keep();
        log::info("the logs are kept in {}", logs_->path());
      }
      return outcome.exit_code;
    }
  }

 private:
  std::vector<ProcessCommand> commands(int64_t restart) const {
    Environment environment = {.world = options_.nodes * options_.processes,
                               .local_world = options_.processes,
                               .address = options_.address.empty() ? "127.0.0.1" : options_.address,
                               .port = options_.port == 0 ? free_port() : options_.port + restart};
    ProcessCommand command = {.program = options_.program, .words = words_(restart)};
    std::vector<ProcessCommand> commands;
    for (int64_t local = 0; local < options_.processes; ++local) {
      environment.local_rank = local;
      environment.rank = first_rank_ + local;
      command.variables = variables_of(environment);
      command.variables.push_back(fmt::format("{}={}", kRestartVariable, restart));
      add_threads(command.variables);
      command.log = environment.rank == 0 ? "" : logs_->file(environment.rank);
      commands.push_back(command);
    }
    return commands;
  }

  void add_threads(std::vector<std::string>& variables) const {
    if (options_.threads == 0 && std::getenv("OMP_NUM_THREADS") != nullptr) return;
    const int64_t share = std::max<int64_t>(1, available_cores() / options_.processes);
    variables.push_back(fmt::format("OMP_NUM_THREADS={}", options_.threads == 0 ? share : options_.threads));
  }

  const LaunchOptions& options_;
  const LaunchWords& words_;
  int64_t first_rank_;
  SignalInbox inbox_;
  std::optional<LogFolder> logs_;  // none where rank 0 is alone
};

}  // namespace

int64_t free_port() {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in place = {};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_ANY);
  socklen_t size = sizeof(place);
  auto* const address = reinterpret_cast<sockaddr*>(&place);
  const bool found =
      listener >= 0 && bind(listener, address, size) == 0 && getsockname(listener, address, &size) == 0;
  const int error = errno;
  if (listener >= 0) close(listener);
  LACT_CHECK(found, "[launch] no free port: {}", std::generic_category().message(error));
  return ntohs(place.sin_port);
}

void LaunchOptions::check() const {
  LACT_CHECK(processes >= 1, "[launch] {} processes, expected at least 1", processes);
  LACT_CHECK(nodes >= 1 && node >= 0 && node < nodes,
             "[launch] --node is {}, expected 0 to {}, for --nodes is {}", node, nodes - 1, nodes);
  LACT_CHECK(nodes == 1 || (port > 0 && !address.empty()),
             "[launch] --nodes {} needs --address and --port, where all meet: those of node 0", nodes);
  LACT_CHECK(port + restarts <= kLastPort,
             "[launch] --port {} and {} restarts, which take the ports after it, go beyond port {}", port,
             restarts, kLastPort);
}

int launch(const LaunchOptions& options, const LaunchWords& words) {
  options.check();
  return Launcher(options, words).run();
}

}  // namespace lact::parallel
