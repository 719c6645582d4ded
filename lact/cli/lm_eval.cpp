// `lact lm eval`: several models side by side on one measure.
#include "lact/cli/lm_eval.h"
#include "lact/cli/evaluation.h"
#include "lact/cli/fields.h"
#include "lact/cli/lm.h"
#include "lact/cli/verbs.h"

namespace lact::cli {

namespace {

enum class Measure { loss, recall, ruler };
constexpr std::array<std::pair<Measure, std::string_view>, 3> enum_names(Measure) {
  return {{{Measure::loss, "loss"}, {Measure::recall, "recall"}, {Measure::ruler, "ruler"}}};
}

struct LmEvalWords : EvalWords {
  std::string measure = "loss", output;
  bool json = false;
};

std::vector<NamedLm> load_all(const LmEvalWords& words) {
  std::vector<NamedLm> models;
  for (const auto& [name, folder] : named_folders(words.models))
    models.push_back({name, load_lm({folder, words.lm.tokenizer, words.lm.precision})});
  return models;
}

void run_eval(const CLI::App& verb, const LmEvalWords& words) {
  Measure measure{};
  options::read(options::Json(words.measure), measure, "task");
  check_option_groups(verb, words.measure);
  const auto models = load_all(words);
  const Evaluation result = measure == Measure::loss     ? evaluate_loss(models, words)
                            : measure == Measure::recall ? evaluate_recall(models, words)
                                                         : evaluate_ruler(models, words);
  if (!words.output.empty()) write_evaluation(result, words.output, words.measure);
  print_evaluation(result, words.json);
}

}  // namespace

void add_lm_eval(CLI::App& task) {
  const auto words = std::make_shared<LmEvalWords>();
  auto* verb = task.add_subcommand("eval", "Loss against position, recall against distance, RULER retrieval");
  verb->footer(
      "Example: lact lm eval --model lact=run --model window=window_only --data books/valid --length 8192 -o "
      "out\n"
      "         lact lm eval --task ruler --model run --lengths 1024 --lengths 4096 --examples 50\n"
      "         lact lm eval --task recall --model run");
  verb->add_option("-m,--model", words->models, "Model folder, or NAME=FOLDER; may be given repeatedly")
      ->required()
      ->allow_extra_args(false);
  verb->add_option("--task", words->measure, "loss (against position), recall (against distance) or ruler")
      ->capture_default_str();
  verb->add_option("-o,--output", words->output, "Folder for the plots (SVG) and figures (JSON)");
  add_tokenizer_and_precision(*verb, words->lm);
  verb->add_option("--data", words->data, "loss: text files or folders")->group("loss");
  add_fields(*verb, words->position, "loss");
  verb->add_option("--documents", words->recall.documents, "documents")
      ->group("recall")
      ->capture_default_str();
  verb->add_option("--document-length", words->recall.length, "tokens of a document")
      ->group("recall")
      ->capture_default_str();
  verb->add_option("--seed", words->recall.seed, "seed of the documents or examples")
      ->group("recall, ruler")
      ->capture_default_str();
  add_fields(*verb, words->recall_text, "recall");
  verb->add_option("--ruler-tasks", words->ruler_tasks,
                   "tasks by name, as S-NIAH-1 or niah_single_1; by default all six")
      ->group("ruler")
      ->delimiter(',');
  verb->add_option("--lengths", words->lengths, "lengths in tokens")
      ->group("ruler")
      ->delimiter(',')
      ->capture_default_str();
  verb->add_option("--examples", words->examples, "examples of each task and length")
      ->group("ruler")
      ->capture_default_str();
  verb->add_option("--answer-tokens", words->answer_tokens, "tokens kept for the answer")
      ->group("ruler")
      ->capture_default_str();
  verb->add_option("--haystack", words->haystack, "text file to hide needles in; by default generated prose")
      ->group("ruler");
  verb->add_option("--adjectives", words->adjectives, "file with one adjective per line")->group("ruler");
  verb->add_option("--nouns", words->nouns, "file with one noun per line")->group("ruler");
  verb->add_flag("--json", words->json, "Print for a program to read");
  verb->callback([verb, words] { run_eval(*verb, *words); });
}

}  // namespace lact::cli
