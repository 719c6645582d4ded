// Tiny models learn to recall pairs, and are asked for them long after their attention window has passed.
// Three models of one size differ only in their memory: fast weights written by Muon, by plain gradient
// descent, or none.
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <filesystem>
#include <iostream>

#include "lact/base/error.h"
#include "lact/base/threads.h"
#include "lact/io/atomic_file.h"
#include "recall/report.h"

namespace {

/// One line on a terminal that is written over, or a line now and then in a log file.
class ProgressLine {
 public:
  ProgressLine(std::string name, int64_t steps) : name_(std::move(name)), steps_(steps) {}

  void show(int64_t step, double loss) const {
    const bool last = step == steps_;
    if (!terminal_ && step % 50 != 0 && !last) return;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    const double left = seconds / double(step) * double(steps_ - step);
    std::cerr << (terminal_ ? "\r\033[K" : "")
              << fmt::format("{}: step {}/{}, loss {:.3f}, {}", name_, step, steps_, loss,
                             last ? fmt::format("{:.0f} s", seconds) : fmt::format("{:.0f} s left", left))
              << (terminal_ && !last ? "" : "\n") << std::flush;
  }

 private:
  std::string name_;
  int64_t steps_;
  bool terminal_ = isatty(STDERR_FILENO) != 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

void run(recall::Report report, const std::filesystem::path& folder) {
  const auto& [task, shape, training, outcomes] = report;
  std::filesystem::create_directories(folder);
  std::cout << fmt::format(
                   "A sequence of {} tokens tells {} pairs of a key and a value; every token asks for an "
                   "earlier one.\n"
                   "Attention sees {} tokens. What was told before that has to be in the fast weights.\n",
                   task.tokens, task.pairs(), shape.window)
            << std::endl;

  const auto contenders = recall::contenders();
  for (size_t i = 0; i < contenders.size(); ++i) {
    const ProgressLine line(fmt::format("[{}/{}] {}", i + 1, contenders.size(), contenders[i].name),
                            training.steps);
    report.outcomes.push_back(recall::train(contenders[i], task, shape, training,
                                            [&](int64_t step, double loss) { line.show(step, loss); }));
  }

  lact::eval::Plot recall_plot = report.recall_plot();
  std::cout << report.table() << "\n" << lact::eval::terminal_chart(recall_plot, 78, 16) << "\n";
  recall_plot.series.push_back(report.window_line());
  lact::eval::write_svg(folder / "recall.svg", recall_plot);
  lact::eval::write_svg(folder / "training.svg", report.training_plot());
  const std::string json = report.json();
  lact::io::write_file_atomically(folder / "results.json",
                                  [&](lact::io::FileWriter& file) { file.write(json); });
  std::cout << fmt::format("wrote {0}/recall.svg, {0}/training.svg and {0}/results.json\n", folder.string());
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Recall beyond the attention window: LaCT against window attention", "recall_demo"};
  std::string folder = "demo";
  recall::Report report;
  int threads = 0;
  app.add_option("--output", folder, "Folder for the charts and results")->capture_default_str();
  app.add_option("--steps", report.training.steps, "Training steps of each model")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--seed", report.training.seed, "Seed of weights and sequences")->capture_default_str();
  app.add_option("--threads", threads, "Processor cores to use; 0 is all of them")
      ->check(CLI::NonNegativeNumber);
  CLI11_PARSE(app, argc, argv);
  try {
    lact::use_threads(threads);
    run(std::move(report), folder);
  } catch (const std::exception& error) {
    std::cerr << "recall_demo: " << error.what() << "\n";
    return 2;
  }
  return 0;
}
