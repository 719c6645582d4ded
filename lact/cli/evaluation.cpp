#include "lact/cli/evaluation.h"

#include <unistd.h>

#include <filesystem>
#include <iostream>

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/base/terminal.h"
#include "lact/io/atomic_file.h"

namespace lact::cli {

std::vector<NamedFolder> named_folders(const std::vector<std::string>& arguments) {
  std::vector<NamedFolder> result;
  for (const auto& word : arguments) {
    const size_t equals = word.find('=');
    const bool named = equals != std::string::npos && !std::filesystem::exists(word);
    const std::string folder = named ? word.substr(equals + 1) : word;
    const auto path = std::filesystem::path(folder).lexically_normal();
    // "run/" has an empty last part
    std::string name = named ? word.substr(0, equals)
                             : (path.has_filename() ? path : path.parent_path()).filename().string();
    if (name.empty()) name = folder;
    for (const auto& other : result)
      LACT_CHECK(other.name != name, "[eval] {} and {} are both called {}: name one by --model NAME=FOLDER",
                 other.folder, folder, name);
    result.push_back({name, folder});
  }
  return result;
}

std::string text_table(const std::vector<std::string>& header,
                       const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& cell : header) widths.push_back(cell.size());
  for (const auto& row : rows)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  const auto line = [&](const std::vector<std::string>& cells) {
    for (size_t i = 0; i < cells.size(); ++i)
      text +=
          i == 0 ? fmt::format("{:<{}}", cells[i], widths[i]) : fmt::format("  {:>{}}", cells[i], widths[i]);
    text += "\n";
  };
  line(header);
  for (const auto& row : rows) line(row);
  return text;
}

void create_output_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  LACT_CHECK(!error, "{}: cannot be created: {}", folder, error.message());
}

void write_evaluation(const Evaluation& evaluation, const std::string& folder, const std::string& stem) {
  create_output_folder(folder);
  const auto path = [&](const std::string& ending) {
    return (std::filesystem::path(folder) / (stem + ending)).string();
  };
  for (const auto& [name, plot] : evaluation.plots) eval::write_svg(path(name + ".svg"), plot);
  io::write_file_atomically(path(".json"),
                            [&](io::FileWriter& file) { file.write(evaluation.json.dump(2) + "\n"); });
  log::info("wrote {}.json and {} plots", path(""), evaluation.plots.size());
}

void print_evaluation(const Evaluation& evaluation, bool json) {
  if (json) {
    std::cout << evaluation.json.dump(2) << "\n";
    return;
  }
  std::cout << evaluation.table;
  for (const auto& [name, plot] : evaluation.plots)
    std::cout << "\n" << eval::terminal_chart(plot, std::min(78, terminal_columns(STDOUT_FILENO) - 1), 14);
}

}  // namespace lact::cli
