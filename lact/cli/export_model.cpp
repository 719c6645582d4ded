#include "lact/cli/export_model.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <filesystem>
#include <iostream>

#include "lact/base/error.h"
#include "lact/base/format.h"

namespace lact::cli {

namespace fs = std::filesystem;

void add_export_type(CLI::App& verb, ExportArguments& arguments) {
  verb.add_option("--type", arguments.type, "Of a model's numbers: bf16 or f32")
      ->check(CLI::IsMember({"bf16", "f32"}))
      ->capture_default_str();
}

void check_export_is_new(const ExportArguments& arguments) {
  LACT_CHECK(!fs::exists(fs::path(arguments.output) / "config.json"),
             "{}: holds a model already, expected a new folder", arguments.output);
}

void print_exported(const ExportArguments& arguments) {
  uintmax_t bytes = 0;
  for (const auto& file : fs::recursive_directory_iterator(arguments.output))
    if (file.is_regular_file()) bytes += file.file_size();
  std::cout << fmt::format("{}: {} as {}\n", arguments.output, format_bytes(double(bytes)), arguments.type);
}

}  // namespace lact::cli
