// What `lact bench` prints and writes.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/base/terminal.h"
#include "lact/cli/bench.h"
#include "lact/io/atomic_file.h"

namespace lact::cli {

namespace {

using options::Json;

/// The command line as it was typed, as far as spaces tell.
std::string command() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' ');
  const size_t program = text.find(' ');
  return "lact" + (program == std::string::npos ? "" : text.substr(program));
}

Json results_json(const bench::Session& session) {
  Json results = Json::array();
  for (const auto& row : session.results()) results.push_back(to_json(row));
  return {{"machine", to_json(session.machine())}, {"command", command()}, {"results", results}};
}

/// Several pictures of one run: out/bench.svg becomes out/bench_mixers.svg.
std::string path_of(const std::string& area, const std::string& output) {
  const std::filesystem::path path(output);
  return (path.parent_path() / (path.stem().string() + "_" + area + path.extension().string())).string();
}

const char* const kLegend =
    "peak: share of the machine's peak (decode: of its memory bandwidth). x bf16, x f32: times faster than "
    "PyTorch.\n"
    "x ref.: times faster than the reference form. memory: beyond the inputs; of PT: share of PyTorch's.\n";

}  // namespace

void record(const bench::Session& session, const BenchArguments& arguments) {
  if (arguments.record.empty()) return;
  io::write_file_atomically(arguments.record,
                            [&](io::FileWriter& file) { file.write(results_json(session).dump(2) + "\n"); });
}

void make_places(const BenchArguments& arguments) {
  for (const std::string& path : {arguments.record, arguments.output}) {
    const auto folder = std::filesystem::path(path).parent_path();
    std::error_code error;
    if (!folder.empty()) std::filesystem::create_directories(folder, error);
    LACT_CHECK(!error, "{}: cannot be created: {}", folder.string(), error.message());
  }
}

void report(const bench::Session& session, const BenchArguments& arguments) {
  if (!arguments.output.empty()) {
    for (const auto& [area, plot] : session.plots) {
      const std::string path = session.plots.size() == 1 ? arguments.output : path_of(area, arguments.output);
      eval::write_svg(path, plot);
      log::info("wrote {}", path);
    }
  }
  if (!arguments.record.empty()) log::info("wrote {}", arguments.record);
  if (arguments.json) {
    std::cout << results_json(session).dump(2) << "\n";
    return;
  }
  std::cout << machine_text(session.machine());
  if (session.results().empty()) return;
  std::cout << "\n" << bench::table(session.results()) << "\n" << kLegend;
  const int columns = std::min(100, terminal_columns(STDOUT_FILENO) - 1);
  for (const auto& [area, plot] : session.plots) {
    std::cout << "\n" << eval::terminal_chart(plot, columns, 18);
  }
}

}  // namespace lact::cli
