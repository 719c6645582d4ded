#include "lact/cli/model_export.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <filesystem>
#include <iostream>

#include "lact/base/error.h"
#include "lact/base/format.h"

namespace lact::cli {

void add_export_type(CLI::App& verb, ModelExport& words) {
  verb.add_option("--type", words.type, "Of a model's numbers: bf16 or f32")
      ->check(CLI::IsMember({"bf16", "f32"}))
      ->capture_default_str();
}

void export_model_folder(const ModelExport& words, const std::function<void(c10::ScalarType)>& save) {
  namespace fs = std::filesystem;
  LACT_CHECK(!fs::exists(fs::path(words.output) / "config.json"),
             "{}: holds a model already, expected a new folder", words.output);
  save(words.type == "bf16" ? c10::ScalarType::BFloat16 : c10::ScalarType::Float);
  uintmax_t bytes = 0;
  for (const auto& file : fs::recursive_directory_iterator(words.output)) {
    if (file.is_regular_file()) bytes += file.file_size();
  }
  std::cout << fmt::format("{}: {} as {}\n", words.output, format_bytes(double(bytes)), words.type);
}

}  // namespace lact::cli
