// `lact launch`: a command of this program in several processes that work together.
#include <CLI/CLI.hpp>

#include <cstdlib>
#include <iostream>

#include "lact/base/error.h"
#include "lact/cli/launched_command.h"
#include "lact/cli/numbers.h"
#include "lact/cli/outputs.h"
#include "lact/cli/verbs.h"
#include "lact/parallel/launcher.h"

namespace lact::cli {

namespace {

constexpr Limits kProcesses = {1, 4096}, kNodes = {1, 1 << 20}, kNode = {0, 1 << 20}, kPort = {1, 65535},
                 kRestarts = {0, 1000}, kGraceSeconds = {0, 86400}, kThreadsPerRank = {1, 4096};

struct LaunchArguments {
  parallel::LaunchOptions options;
  std::vector<std::string> command;  // for the help page alone: own_words_after_marker() are the words
};

int run(const CLI::App& verb, const LaunchArguments& arguments) {
  LACT_CHECK(std::getenv(parallel::kRestartVariable) == nullptr,
             "[launch] this process was itself started by lact launch");
  LACT_CHECK(verb.get_option("COMMAND")->empty() || !own_words_after_marker().empty(),
             "[launch] the command stands after --, like: lact launch -n 2 -- {}",
             fmt::join(arguments.command, " "));
  for (const char* name : {"--threads", "--reference"}) {
    LACT_CHECK(verb.get_parent()->get_option(name)->count() == 0,
               "[launch] {} belongs to the command: put it after --", name);
  }
  const LaunchedCommand command(own_words_after_marker());
  if (command.wants_help()) {
    std::cout << command.help();
    return 0;
  }
  LACT_CHECK(arguments.options.threads == 0 || !command.has("--threads"),
             "[launch] --threads-per-rank and --threads of the command say the same thing twice");
  return parallel::launch(arguments.options, [&](int64_t restart) {
    auto words = restart == 0 ? command.words() : command.words_again();
    words.insert(words.begin(), "lact");
    return words;
  });
}

}  // namespace

void add_launch(CLI::App& program, int& exit_code) {
  const auto arguments = std::make_shared<LaunchArguments>();
  auto& options = arguments->options;
  auto* verb = program.add_subcommand("launch", "Run a command in several processes that work together");
  verb->footer(
      "Rank 0 prints here; what the others print goes to rank_<rank>.log in the log folder. When one rank\n"
      "fails, the others are ended, and the exit code is that of the first that failed. A command that is\n"
      "started again is done again; a training whose folder holds a run goes on from its last checkpoint\n"
      "(--resume FOLDER --from-start). Exit code 2, a mistake in the command, is not tried again.\n"
      "Other launchers (torchrun, mpirun, srun) start the same commands: docs/parallel.md.\n\n"
      "Example: lact launch -n 4 -- lm train -o run\n"
      "         lact launch -n 2 --restarts 3 --log-folder logs -- nvs train -o run\n"
      "         lact launch -n 8 --nodes 2 --node 0 --address 10.0.0.1 --port 29500 -- lm train -o run");
  add_number(*verb, "-n,--processes", options.processes, "Processes on this machine", kProcesses)->required();
  verb->add_option("COMMAND", arguments->command, "A command of lact, after --");
  add_number(*verb, "--threads-per-rank", options.threads,
             "Processor cores of each process; an even share unless given here or by OMP_NUM_THREADS",
             kThreadsPerRank);
  verb->add_option("--log-folder", options.log_folder,
                   "Folder for rank_<rank>.log; a temporary one unless given, kept if something failed")
      ->check(output_folder());
  add_number(*verb, "--restarts", options.restarts, "After a failure, start all ranks again so many times",
             kRestarts)
      ->capture_default_str();
  add_number(*verb, "--timeout", options.grace,
             "Seconds that the other ranks have to end when one has failed, before SIGTERM, and again before "
             "SIGKILL",
             kGraceSeconds)
      ->capture_default_str();
  add_number(*verb, "--nodes", options.nodes, "Machines, on each of which this is called", kNodes)
      ->capture_default_str();
  add_number(*verb, "--node", options.node, "Which of them this is, counted from 0", kNode)
      ->capture_default_str();
  verb->add_option("--address", options.address, "Address of node 0, where all processes meet");
  add_number(*verb, "--port", options.port,
             "Port there; each restart takes the next. A free one unless given, for one machine", kPort);
  verb->callback([verb, arguments, &exit_code] { exit_code = run(*verb, *arguments); });
}

}  // namespace lact::cli
