#include <fstream>
#include <iostream>
#include <sstream>

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/base/memory_use.h"
#include "lact/cli/fields.h"
#include "lact/cli/lm/lm.h"
#include "lact/cli/lm/text.h"
#include "lact/cli/numbers.h"
#include "lact/cli/outputs.h"
#include "lact/tasks/lm/session.h"

namespace lact::cli {

namespace {

struct GenerateArguments {
  LmArguments lm;
  std::string prompt, prompt_file, save_memory;
  std::vector<std::string> memories;
  models::GenerateOptions generate;
  bool json = false, echo = false;
};

/// A longer text is read with `lact lm ingest`, which does not hold it in memory.
constexpr size_t kLongestPrompt = size_t{16} << 20;

std::string read_prompt(const GenerateArguments& arguments) {
  LACT_CHECK(arguments.prompt.empty() || arguments.prompt_file.empty(),
             "[generate] give --prompt or --prompt-file, not both");
  std::string prompt = arguments.prompt;
  if (!arguments.prompt_file.empty()) prompt = read_text(arguments.prompt_file, kLongestPrompt);
  LACT_CHECK(prompt.size() <= kLongestPrompt,
             "[generate] the prompt has {} bytes, expected at most {}; read longer texts with lact lm ingest",
             prompt.size(), kLongestPrompt);
  check_utf8(prompt, "the prompt");
  return prompt;
}

void run_generate(const GenerateArguments& arguments) {
  arguments.generate.check();
  const std::string prompt = read_prompt(arguments);
  LACT_CHECK(!prompt.empty() || !arguments.memories.empty(),
             "[generate] give --prompt, --prompt-file or --memory");
  LACT_CHECK(arguments.save_memory.empty() || arguments.memories.size() <= 1,
             "[generate] --save-memory writes one file, but there are {} memories",
             arguments.memories.size());
  const bool needs_hash = !arguments.memories.empty() || !arguments.save_memory.empty();
  return_freed_memory();
  const auto lm = load_lm(arguments.lm.model, arguments.lm.load, needs_hash);
  std::vector<tasks::lm::Session> sessions;
  for (const auto& file : arguments.memories) sessions.emplace_back(lm, file);
  const bool remembers = !sessions.empty();
  if (!remembers) sessions.emplace_back(lm);

  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  for (size_t i = 0; i < sessions.size(); ++i) {
    if (!arguments.json && sessions.size() > 1) std::cout << fmt::format("== {}\n", arguments.memories[i]);
    if (!arguments.json && arguments.echo) std::cout << prompt << std::flush;
    TextPrinter printer(!arguments.json);
    const auto outcome =
        sessions[i].write(prompt, arguments.generate, [&](const std::string& bytes) { printer.push(bytes); });
    printer.finish();
    if (arguments.json) {
      results.push_back({{"memory", remembers ? nlohmann::ordered_json(arguments.memories[i])
                                              : nlohmann::ordered_json(nullptr)},
                         {"text", arguments.echo ? prompt + printer.text() : printer.text()},
                         {"tokens", outcome.tokens.size()},
                         {"stopped_by", std::string(options::word_of(outcome.reason))},
                         {"position", sessions[i].position()},
                         {"prefill_seconds", outcome.prefill_seconds},
                         {"tokens_per_second", outcome.tokens_per_second},
                         {"weight_error", lm.weight_error}});
    } else {
      std::cout << "\n";
      log::info("{} tokens read in {:.2f} s, {} written at {:.1f} tokens/s", outcome.prompt_tokens,
                outcome.prefill_seconds, outcome.tokens.size(), outcome.tokens_per_second);
    }
    if (!arguments.save_memory.empty()) {
      sessions[i].save(arguments.save_memory);
      log::info("wrote {}", arguments.save_memory);
    }
  }
  if (arguments.json) std::cout << results.dump(2) << "\n";
}

}  // namespace

void add_lm_generate(CLI::App& task) {
  const auto arguments = std::make_shared<GenerateArguments>();
  auto* verb = task.add_subcommand("generate", "Write text token by token, in constant memory");
  verb->footer(
      "Example: lact lm generate --prompt \"It was a dark\" --max-tokens 200\n"
      "         lact lm generate --model run --memory book.mem --prompt \"And then\"\n"
      "Several --memory files are continued one after the other, each on its own.");
  add_lm_options(*verb, arguments->lm);
  verb->add_option("-p,--prompt", arguments->prompt, "Text to continue");
  verb->add_option("--prompt-file", arguments->prompt_file, "File with the text to continue");
  verb->add_option("--memory", arguments->memories, "Memory file to continue from; may be given repeatedly")
      ->allow_extra_args(false);
  verb->add_option("--save-memory", arguments->save_memory, "Write what the model remembers in the end")
      ->check(output_file());
  add_fields(*verb, arguments->generate, "Sampling", {},
             {{"temperature", {0, 1000}}, {"top_p", kShare}, {"repetition_penalty", {0.01, 100}}});
  verb->add_flag("--echo", arguments->echo, "Print the prompt too");
  verb->add_flag("--json", arguments->json, "Print for a program to read, at the end");
  verb->callback([arguments] { run_generate(*arguments); });
}

}  // namespace lact::cli
