#include <CLI/CLI.hpp>

#include "lact/base/memory_use.h"
#include "lact/cli/fields.h"
#include "lact/cli/lm/lm.h"
#include "lact/tasks/lm/serving/lm_server.h"

namespace lact::cli {

namespace {

struct ServeArguments {
  LmArguments lm;
  std::string draft;
  tasks::lm::ServingOptions serving;
};

int run_serve(const ServeArguments& arguments) {
  arguments.serving.check();
  return_freed_memory();
  auto lm = load_lm(arguments.lm.model, arguments.lm.load, /*with_fingerprint=*/true);
  std::optional<tasks::lm::Loaded> draft;
  if (!arguments.draft.empty()) draft = load_lm(arguments.draft, arguments.lm.load);
  return tasks::lm::run_lm_server(std::move(lm), std::move(draft), arguments.serving);
}

}  // namespace

void add_lm_serve(CLI::App& task, int& exit_code) {
  const auto arguments = std::make_shared<ServeArguments>();
  auto* verb = task.add_subcommand(
      "serve", "Answer requests over HTTP, as llama.cpp's server does, with memories that have names");
  verb->footer(
      "Example: lact lm serve --model run --port 8080\n"
      "         curl http://127.0.0.1:8080/v1/completions -d '{\"prompt\": \"The Tale of Oakley\", "
      "\"max_tokens\": "
      "50}'\n"
      "A page to talk to the model is at http://127.0.0.1:8080/; docs/server.md is the guide.");
  add_lm_options(*verb, arguments->lm);
  verb->add_option("--draft", arguments->draft,
                   "Folder of a smaller model of the same vocabulary, which proposes tokens: faster, and the "
                   "same text");
  add_fields(*verb, arguments->serving, "Serving", {},
             {{"port", {0, 65535}},
              {"connections", {1, 65536}},
              {"body_mib", {1, 65536}},
              {"max_tokens_limit", kFromOne},
              {"max_choices", {1, 1024}},
              {"request_seconds", {0, 1e6}},
              {"slots", {1, 1024}},
              {"prompt_piece", {1, 1 << 20}},
              {"draft_tokens", {0, 64}},
              {"memory_ram_mib", {0, 1 << 24}},
              {"memory_folder_mib", {0, 1 << 24}}});
  verb->callback([arguments, &exit_code] { exit_code = run_serve(*arguments); });
}

}  // namespace lact::cli
