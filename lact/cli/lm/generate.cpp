#include <iostream>
#include <map>
#include <optional>

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/base/memory_use.h"
#include "lact/cli/fields.h"
#include "lact/cli/lm/lm.h"
#include "lact/cli/lm/text.h"
#include "lact/cli/numbers.h"
#include "lact/cli/outputs.h"
#include "lact/tasks/lm/engine/ordered_texts.h"

namespace lact::cli {

namespace {

struct GenerateArguments {
  LmArguments lm;
  std::string prompt_file, save_memory, draft;
  std::vector<std::string> prompts, memories;
  models::GenerateOptions generate;
  tasks::lm::EngineOptions engine;
  bool json = false, echo = false;
};

/// One of the texts that are to be written.
struct Wanted {
  std::string prompt;
  std::string memory;  ///< file; "" for none

  std::string title(const GenerateArguments& arguments) const {
    if (arguments.prompts.size() < 2) return memory;
    return memory.empty() ? prompt : memory + ": " + prompt;
  }
};

/// A longer text is read with `lact lm ingest`, which does not hold it in memory.
constexpr size_t kLongestPrompt = size_t{16} << 20;

std::vector<std::string> read_prompts(const GenerateArguments& arguments) {
  LACT_CHECK(arguments.prompts.empty() || arguments.prompt_file.empty(),
             "[generate] give --prompt or --prompt-file, not both");
  std::vector<std::string> prompts = arguments.prompts;
  if (!arguments.prompt_file.empty()) prompts = {read_text(arguments.prompt_file, kLongestPrompt)};
  if (prompts.empty()) prompts = {""};  // what a memory holds goes on by itself
  for (const auto& prompt : prompts) {
    LACT_CHECK(
        prompt.size() <= kLongestPrompt,
        "[generate] the prompt has {} bytes, expected at most {}; read longer texts with lact lm ingest",
        prompt.size(), kLongestPrompt);
    check_utf8(prompt, "the prompt");
    LACT_CHECK(!prompt.empty() || !arguments.memories.empty(),
               "[generate] give --prompt, --prompt-file or --memory");
  }
  return prompts;
}

/// Every memory with every prompt.
std::vector<Wanted> wanted_texts(const GenerateArguments& arguments) {
  std::vector<Wanted> wanted;
  const std::vector<std::string> none = {""};
  const auto prompts = read_prompts(arguments);
  for (const auto& memory : arguments.memories.empty() ? none : arguments.memories) {
    for (const auto& prompt : prompts) wanted.push_back({prompt, memory});
  }
  LACT_CHECK(arguments.save_memory.empty() || wanted.size() == 1,
             "[generate] --save-memory writes one file, but there are {} texts", wanted.size());
  return wanted;
}

std::vector<tasks::lm::TextRequest> requests_for(const std::vector<Wanted>& wanted,
                                                 const tasks::lm::Loaded& lm,
                                                 const models::GenerateOptions& options) {
  std::map<std::string, tasks::lm::TextState> memories;
  std::vector<tasks::lm::TextRequest> requests;
  for (const Wanted& text : wanted) {
    auto& from = memories[text.memory];
    if (!text.memory.empty() && !from) from = tasks::lm::load_text_state(text.memory, lm);
    const auto tokens =
        from ? lm.tokenizer->encode_continuation(text.prompt) : lm.tokenizer->encode(text.prompt);
    tasks::lm::TextRequest request;
    request.prompt.assign(tokens.begin(), tokens.end());
    request.from = from;
    request.use_store = false;
    request.options = options;
    requests.push_back(std::move(request));
  }
  return requests;
}

nlohmann::ordered_json report(const Wanted& text, const std::string& written,
                              const tasks::lm::TextOutcome& outcome, const GenerateArguments& arguments,
                              const tasks::lm::Loaded& lm) {
  nlohmann::ordered_json json = {
      {"memory", text.memory.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(text.memory)},
      {"prompt", text.prompt},
      {"text", arguments.echo ? text.prompt + written : written},
      {"tokens", outcome.written_tokens},
      {"stopped_by", std::string(options::word_of(outcome.reason))},
      {"position", outcome.state ? outcome.state->position() : 0},
      {"prefill_seconds", outcome.prompt_seconds},
      {"tokens_per_second", double(outcome.written_tokens) / std::max(1e-9, outcome.write_seconds)},
      {"weight_error", lm.weight_error}};
  if (!arguments.draft.empty()) {
    json["draft_tokens"] = outcome.draft_tokens;
    json["draft_accepted"] = outcome.draft_accepted;
  }
  return json;
}

void log_speed(const tasks::lm::TextOutcome& outcome) {
  log::info("{} tokens read in {:.2f} s, {} written at {:.1f} tokens/s", outcome.prompt_tokens,
            outcome.prompt_seconds, outcome.written_tokens,
            double(outcome.written_tokens) / std::max(1e-9, outcome.write_seconds));
  if (outcome.draft_tokens > 0) {
    log::info("{} of {} proposed tokens were right", outcome.draft_accepted, outcome.draft_tokens);
  }
}

tasks::lm::Engine make_engine(const GenerateArguments& arguments, const tasks::lm::Loaded& lm) {
  tasks::lm::EngineOptions options = arguments.engine;
  options.prompt_piece = lm.model->config().chunk_size;  // nobody waits
  options.store.store_ram_bytes = 0;
  if (arguments.draft.empty()) return {lm, options};
  return {lm, options, load_lm(arguments.draft, arguments.lm.load)};
}

/// Nothing but `lact lm generate`: the shipped weights tell a tale, which they know by its title.
GenerateArguments with_something_to_tell(GenerateArguments arguments) {
  const bool asks =
      !arguments.prompts.empty() || !arguments.prompt_file.empty() || !arguments.memories.empty();
  if (asks || !arguments.lm.model.empty()) return arguments;
  arguments.prompts = {"The Tale of Oakley"};
  arguments.echo = true;
  return arguments;
}

void run_generate(const GenerateArguments& given) {
  const GenerateArguments arguments = with_something_to_tell(given);
  arguments.generate.check();
  const std::vector<Wanted> wanted = wanted_texts(arguments);
  const bool needs_hash = !arguments.memories.empty() || !arguments.save_memory.empty();
  return_freed_memory();
  const auto lm = load_lm(arguments.lm.model, arguments.lm.load, needs_hash);
  auto requests = requests_for(wanted, lm, arguments.generate);
  tasks::lm::Engine engine = make_engine(arguments, lm);

  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  std::optional<TextPrinter> printer;
  const auto begin = [&](size_t i) {
    if (printer) return;
    printer.emplace(!arguments.json);
    if (!arguments.json && wanted.size() > 1) std::cout << fmt::format("== {}\n", wanted[i].title(arguments));
    if (!arguments.json && arguments.echo) std::cout << wanted[i].prompt << std::flush;
  };
  tasks::lm::ShownText show;
  show.wrote = [&](size_t i, const std::string& bytes) {
    begin(i);
    printer->push(bytes);
  };
  show.finished = [&](size_t i, const tasks::lm::TextOutcome& outcome) {
    begin(i);
    printer->finish();
    if (arguments.json) {
      results.push_back(report(wanted[i], printer->text(), outcome, arguments, lm));
    } else {
      std::cout << "\n";
      log_speed(outcome);
    }
    printer.reset();
    if (arguments.save_memory.empty()) return;
    tasks::lm::save_text_state(arguments.save_memory, outcome.state, lm);
    log::info("wrote {}", arguments.save_memory);
  };
  tasks::lm::write_in_order(engine, std::move(requests), show);
  if (arguments.json) std::cout << results.dump(2) << "\n";
}

}  // namespace

void add_lm_generate(CLI::App& task) {
  const auto arguments = std::make_shared<GenerateArguments>();
  auto* verb = task.add_subcommand("generate", "Write text token by token, in constant memory");
  verb->footer(
      "Example: lact lm generate --prompt \"The Tale of Oakley\" --max-tokens 400\n"
      "         lact lm generate --model run --memory book.mem --prompt \"And then\"\n"
      "         lact lm generate --prompt \"The Tale of Oakley\" --prompt \"The Tale of Ashford\" "
      "--temperature 0\n"
      "Without --model, the weights that come with lact go on, and without a prompt they begin a tale of "
      "their own.\n"
      "Every --memory goes on with every --prompt, each as if it were alone; the weights are read once for "
      "all.");
  add_lm_options(*verb, arguments->lm);
  verb->add_option("-p,--prompt", arguments->prompts, "Text to continue; may be given repeatedly")
      ->allow_extra_args(false);
  verb->add_option("--prompt-file", arguments->prompt_file, "File with the text to continue");
  verb->add_option("--memory", arguments->memories, "Memory file to continue from; may be given repeatedly")
      ->allow_extra_args(false);
  verb->add_option("--save-memory", arguments->save_memory, "Write what the model remembers in the end")
      ->check(output_file());
  add_fields(*verb, arguments->generate, "Sampling", {},
             {{"temperature", {0, 1000}}, {"top_p", kShare}, {"repetition_penalty", {0.01, 100}}});
  add_number(*verb, "--at-once", arguments->engine.slots, "Texts that are written at once; each needs memory",
             kFromOne)
      ->capture_default_str();
  verb->add_option(
      "--draft", arguments->draft,
      "Folder of a smaller model with the same tokens, which proposes some of them ahead: the same "
      "text in less time where it is often right");
  add_number(*verb, "--draft-tokens", arguments->engine.draft_tokens, "Tokens that it proposes at once",
             kFromOne)
      ->capture_default_str();
  verb->add_flag("--echo", arguments->echo, "Print the prompt too");
  verb->add_flag("--json", arguments->json, "Print for a program to read, at the end");
  verb->callback([arguments] { run_generate(*arguments); });
}

}  // namespace lact::cli
