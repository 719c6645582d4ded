#include <chrono>
#include <filesystem>
#include <iostream>
#include <optional>

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/base/memory_use.h"
#include "lact/base/progress.h"
#include "lact/cli/fields.h"
#include "lact/cli/lm/lm.h"
#include "lact/cli/outputs.h"
#include "lact/cli/ranks.h"
#include "lact/data/text/text_file.h"
#include "lact/data/text/text_format.h"
#include "lact/io/unpacked_file.h"
#include "lact/tasks/lm/session.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace lact::cli {

namespace {

struct IngestArguments {
  LmArguments lm;
  std::string output, memory;
  std::vector<std::string> texts;
  data::TextFormat format;
  RankOptions ranks;
  bool json = false;
};

/// Progress cannot know the tokens of a text before it is read; bytes of the files are what it has. 0 where
/// one is packed: what is in it shows only when it is read.
int64_t total_bytes(const std::vector<std::string>& files) {
  int64_t bytes = 0;
  for (const auto& file : files) {
    if (io::is_packed(file)) return 0;
    bytes += int64_t(std::filesystem::file_size(file));
  }
  return bytes;
}

void run_ingest(const IngestArguments& arguments) {
  const auto files = data::find_text_files(arguments.texts);
  const parallel::World world = join_ranks(arguments.ranks, Shared::sequence);
  return_freed_memory();
  const auto lm = load_lm(arguments.lm.model, arguments.lm.load, /*with_fingerprint=*/true);
  const bool speaks = world.all.rank() == 0;
  lm.model->set_world(world);
  tasks::lm::Session session(lm, arguments.memory);

  const auto start = std::chrono::steady_clock::now();
  const int64_t first = session.position();
  uint64_t bytes = 0;
  {
    std::optional<Progress> progress;
    if (speaks) progress.emplace("ingest", total_bytes(files));
    int64_t passed = 0;
    const auto seconds = [&] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    const auto on_read = [&](std::span<const int64_t> tokens) {
      for (const int64_t token : tokens) passed += int64_t(lm.tokenizer->token_bytes(int32_t(token)).size());
      if (!progress) return;
      const int64_t read = session.position() - first;
      progress->update(passed,
                       fmt::format("{} tokens, {} tokens/s, {}", read, format_count(double(read) / seconds()),
                                   format_bytes(double(resident_bytes()))));
    };
    for (const auto& file : files) bytes += session.read_file(file, on_read, arguments.format);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!speaks) return;
  session.save(arguments.output);
  const int64_t read = session.position() - first;
  const nlohmann::ordered_json json = {{"memory", arguments.output},
                                       {"tokens", read},
                                       {"position", session.position()},
                                       {"text_bytes", bytes},
                                       {"seconds", seconds},
                                       {"tokens_per_second", double(read) / seconds},
                                       {"file_bytes", std::filesystem::file_size(arguments.output)},
                                       {"weight_error", lm.weight_error},
                                       {"state_bytes", session.memory_bytes()},
                                       {"peak_memory_bytes", peak_resident_bytes()}};
  if (arguments.json) {
    std::cout << json.dump(2) << "\n";
  } else {
    std::cout << fmt::format("{}: {} tokens read in {}, {} of memory file, {} at most in use\n",
                             arguments.output, read, format_duration(seconds),
                             format_bytes(double(json["file_bytes"].get<int64_t>())),
                             format_bytes(double(peak_resident_bytes())));
  }
}

}  // namespace

void add_lm_ingest(CLI::App& task) {
  const auto arguments = std::make_shared<IngestArguments>();
  auto* verb = task.add_subcommand("ingest", "Read texts into fast weights and save them as a memory file");
  verb->footer(
      "Example: lact lm ingest --model run book.txt -o book.mem\n"
      "         lact lm generate --model run --memory book.mem --prompt \"In the end\"\n"
      "The size of the file does not depend on the length of the text.");
  add_lm_options(*verb, arguments->lm);
  verb->add_option("TEXT", arguments->texts, "Text or JSON-lines files or folders, also packed")->required();
  add_fields(*verb, arguments->format);
  verb->add_option("-o,--output", arguments->output, "Memory file to write")
      ->check(output_file())
      ->required();
  verb->add_option("--memory", arguments->memory, "Memory file to continue from");
  add_rank_options(*verb, arguments->ranks);
  verb->add_flag("--json", arguments->json, "Print for a program to read");
  verb->callback([arguments] { run_ingest(*arguments); });
}

}  // namespace lact::cli
