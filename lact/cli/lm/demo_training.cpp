#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>

#include "lact/base/error.h"
#include "lact/base/interrupt.h"
#include "lact/base/json_text.h"
#include "lact/base/progress.h"
#include "lact/base/threads.h"
#include "lact/cli/lm/demo.h"
#include "lact/eval/training_curves.h"
#include "lact/io/child_process.h"

namespace lact::cli {

namespace {

using Clock = std::chrono::steady_clock;

struct Running {
  DemoRun* run;
  std::unique_ptr<io::ChildProcess> process;
  Clock::time_point begin;
};

Running started(DemoRun& run) {
  // One core each: its BLAS comes up with a thread per core unless the environment says otherwise.
  std::vector<std::string> words = {"env", "OMP_NUM_THREADS=1",
                                    std::filesystem::read_symlink("/proc/self/exe").string()};
  words.insert(words.end(), run.words.begin(), run.words.end());
  Running made{&run, std::make_unique<io::ChildProcess>(io::ChildProcess::Direction::we_read), Clock::now()};
  const int error = made.process->start(words);
  LACT_CHECK(error == 0, "[demo] cannot start {}: {}", words[2], std::strerror(error));
  return made;
}

/// What a training prints is one line at its end.
void collect(const Running& running) {
  DemoRun& run = *running.run;
  std::string printed(1 << 16, '\0');
  printed.resize(running.process->read(printed.data(), printed.size()));
  const bool well = running.process->finish();
  LACT_CHECK(well, "[demo] {}: {}", run.name, running.process->last_complaint());
  const auto json = parse_json(printed, "what " + run.name + " printed");
  run.seconds = std::chrono::duration<double>(Clock::now() - running.begin).count();
  run.steps = json.at("steps").get<int64_t>();
  run.loss = json.at("loss").get<double>();
  run.valid_loss = json.at("valid_loss").get<double>();
}

int64_t steps_done(const DemoRun& run) {
  if (!std::filesystem::exists(std::filesystem::path(run.folder) / "metrics.jsonl")) return 0;
  const auto curves = eval::read_curves(run.folder);
  const auto loss = curves.find("loss");
  return loss == curves.end() || loss->second.step.empty() ? 0 : int64_t(loss->second.step.back());
}

}  // namespace

void train_demo(std::vector<DemoRun>& runs, int64_t steps) {
  const Interrupt interrupt;
  const auto side_by_side = size_t(available_cores());
  Progress progress("train", steps * int64_t(runs.size()));
  std::vector<Running> running;
  auto next = runs.begin();
  while (next != runs.end() || !running.empty()) {
    while (next != runs.end() && running.size() < side_by_side) running.push_back(started(*next++));
    for (auto one = running.begin(); one != running.end();) {
      LACT_CHECK(!interrupt.requested(), "[demo] interrupted; nothing is reported");
      if (one->process->has_output(std::chrono::milliseconds(500) / int(running.size()))) {
        collect(*one);
        one = running.erase(one);
      } else {
        ++one;
      }
    }
    int64_t done = 0;
    std::string names;
    for (auto run = runs.begin(); run != next; ++run) done += run->steps > 0 ? run->steps : steps_done(*run);
    for (const auto& one : running) names += (names.empty() ? "" : " | ") + one.run->name;
    progress.update(done, names);
  }
  progress.finish(fmt::format("trained {} models, {} steps each", runs.size(), steps));
}

}  // namespace lact::cli
