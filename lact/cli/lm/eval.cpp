// `lact lm eval`: several models side by side on one measure.
#include "lact/cli/lm/eval.h"
#include "lact/base/memory_use.h"
#include "lact/cli/evaluation.h"
#include "lact/cli/fields.h"
#include "lact/cli/lm/lm.h"
#include "lact/cli/numbers.h"
#include "lact/cli/outputs.h"
#include "lact/cli/verbs.h"

namespace lact::cli {

namespace {

enum class Measure { loss, recall, ruler };
constexpr std::array<std::pair<Measure, std::string_view>, 3> enum_names(Measure) {
  return {{{Measure::loss, "loss"}, {Measure::recall, "recall"}, {Measure::ruler, "ruler"}}};
}

struct LmEvalArguments : EvalArguments {
  std::string measure = "loss", output;
  bool json = false;
};

std::vector<NamedLm> load_all(const LmEvalArguments& arguments) {
  return_freed_memory();
  std::vector<NamedLm> models;
  for (const auto& [name, folder] : named_folders(arguments.models))
    models.push_back({name, load_lm(folder, arguments.load)});
  return models;
}

void run_eval(const CLI::App& verb, const LmEvalArguments& arguments) {
  Measure measure{};
  options::read(options::Json(arguments.measure), measure, "task");
  check_option_groups(verb, arguments.measure);
  const auto models = load_all(arguments);
  const Evaluation result = measure == Measure::loss     ? evaluate_loss(models, arguments)
                            : measure == Measure::recall ? evaluate_recall(models, arguments)
                                                         : evaluate_ruler(models, arguments);
  if (!arguments.output.empty()) write_evaluation(result, arguments.output, arguments.measure);
  print_evaluation(result, arguments.json);
}

}  // namespace

void add_lm_eval(CLI::App& task) {
  const auto arguments = std::make_shared<LmEvalArguments>();
  arguments->load.weights = ops::WeightFormat::f32;  // as they were trained
  auto* verb = task.add_subcommand("eval", "Loss against position, recall against distance, RULER retrieval");
  verb->footer(
      "Example: lact lm eval --model lact=run --model window=window_only --data books/valid --length 8192 -o "
      "out\n"
      "         lact lm eval --task ruler --model run --lengths 1024 --lengths 4096 --examples 50\n"
      "         lact lm eval --task recall --model run");
  verb->add_option("-m,--model", arguments->models, "Model folder, or NAME=FOLDER; may be given repeatedly")
      ->required()
      ->allow_extra_args(false);
  verb->add_option("--task", arguments->measure,
                   "loss (against position), recall (against distance) or ruler")
      ->capture_default_str();
  verb->add_option("-o,--output", arguments->output, "Folder for the plots (SVG) and figures (JSON)")
      ->check(output_folder());
  add_fields(*verb, arguments->load, "", {"weights", "cache"});
  verb->add_option("--data", arguments->data, "loss: text or JSON-lines files or folders, also packed")
      ->group("loss");
  add_fields(*verb, arguments->format, "loss");
  add_fields(*verb, arguments->position, "loss", {}, {{"length", kTokens}, {"sequences", {1, 1e6}}});
  add_number(*verb, "--documents", arguments->recall.documents, "documents", Limits{1, 1e6})
      ->group("recall")
      ->capture_default_str();
  add_number(*verb, "--document-length", arguments->recall.length, "tokens of a document", kTokens)
      ->group("recall")
      ->capture_default_str();
  add_number(*verb, "--seed", arguments->recall.seed, "seed of the documents or examples", kAny)
      ->group("recall, ruler")
      ->capture_default_str();
  add_fields(*verb, arguments->recall_text, "recall");
  verb->add_option("--ruler-tasks", arguments->ruler_tasks,
                   "tasks by name, as S-NIAH-1 or niah_single_1; by default all six")
      ->group("ruler")
      ->delimiter(',');
  add_number(*verb, "--lengths", arguments->lengths, "lengths in tokens", kTokens)
      ->group("ruler")
      ->delimiter(',')
      ->capture_default_str();
  add_number(*verb, "--examples", arguments->examples, "examples of each task and length", Limits{1, 1e6})
      ->group("ruler")
      ->capture_default_str();
  add_number(*verb, "--answer-tokens", arguments->answer_tokens, "tokens kept for the answer", kTokens)
      ->group("ruler")
      ->capture_default_str();
  verb->add_option("--haystack", arguments->haystack,
                   "text file to hide needles in; by default generated prose")
      ->group("ruler");
  verb->add_option("--adjectives", arguments->adjectives, "file with one adjective per line")->group("ruler");
  verb->add_option("--nouns", arguments->nouns, "file with one noun per line")->group("ruler");
  verb->add_flag("--json", arguments->json, "Print for a program to read");
  verb->callback([verb, arguments] { run_eval(*verb, *arguments); });
}

}  // namespace lact::cli
