// `lact lm text`: the built-in text as a file, to read, to train a tokenizer on, or for other programs.
#include <CLI/CLI.hpp>

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/base/random.h"
#include "lact/cli/fields.h"
#include "lact/cli/lm/lm.h"
#include "lact/cli/numbers.h"
#include "lact/cli/outputs.h"
#include "lact/cli/verbs.h"
#include "lact/data/text/recall_text.h"
#include "lact/data/text/ruler_sequences.h"
#include "lact/data/text/tales.h"
#include "lact/data/text/word_model.h"
#include "lact/io/atomic_file.h"
#include "lact/tasks/lm/training/run.h"

namespace lact::cli {

namespace {

using options::Json;
using tasks::lm::BuiltInText;

struct TextArguments {
  std::string output, tokenizer, name;
  BuiltInText text = BuiltInText::recall;
  data::RecallTextOptions recall;
  data::RulerTextOptions ruler;
  data::TalesOptions tales;
  int64_t documents = 1000, words = 400, seed = 1;
};

Json document(const TextArguments& arguments, int64_t index) {
  const auto seed = uint64_t(arguments.seed);
  if (arguments.text == BuiltInText::recall) {
    return {
        {"text", data::recall_text(arguments.recall, mix(seed, uint64_t(index)), arguments.words).text()}};
  }
  if (arguments.text == BuiltInText::tales) {
    return {{"text", data::tale(arguments.tales, mix(seed, uint64_t(index)), arguments.words)}};
  }
  const auto made = data::ruler_document(arguments.ruler, seed, index, arguments.words);
  return {{"text", made.example.prompt + made.example.completion()},
          {"task", made.task},
          {"prompt", made.example.prompt},
          {"answers", made.example.answers}};
}

void write_word_tokenizer(const TextArguments& arguments) {
  const std::vector<std::string> words = data::recall_words(arguments.recall);
  io::write_file_atomically(arguments.tokenizer,
                            [&](io::FileWriter& file) { file.write(data::word_model(words)); });
  log::info("wrote {}: {} words, a token each", arguments.tokenizer, words.size());
}

void write_text(const CLI::App& verb, TextArguments& arguments) {
  options::read(Json(arguments.name), arguments.text, "text");
  check_option_groups(verb, arguments.name);
  arguments.recall.check();
  arguments.ruler.check();
  arguments.tales.check();
  LACT_CHECK(!arguments.output.empty() || !arguments.tokenizer.empty(),
             "[text] give --output, --tokenizer or both");
  if (!arguments.tokenizer.empty()) write_word_tokenizer(arguments);
  if (arguments.output.empty()) return;
  io::write_file_atomically(arguments.output, [&](io::FileWriter& file) {
    for (int64_t i = 0; i < arguments.documents; ++i) file.write(document(arguments, i).dump() + "\n");
  });
  log::info("wrote {}: {} documents", arguments.output, arguments.documents);
}

}  // namespace

void add_lm_text(CLI::App& task) {
  const auto arguments = std::make_shared<TextArguments>();
  auto* verb = task.add_subcommand("text", "Write the built-in text to a file of JSON lines");
  verb->footer(
      "Example: lact lm text recall -o valid.jsonl --tokenizer words.model\n"
      "         lact lm train --config lm_recall --tokenizer words.model -o run\n"
      "         lact lm text ruler --documents 2000 -o needles.jsonl\n"
      "         lact lm tokenizer train needles.jsonl -o needles.model --vocabulary-size 2048 "
      "--no-split-digits\n"
      "         lact lm text tales --words 2000 -o tales.jsonl");
  verb->add_option("TEXT", arguments->name,
                   "recall: facts told and asked for; ruler: the needle tasks with their answers, without "
                   "keys and values that are kept for evaluation; tales: plain English about people whom a "
                   "tale comes back to")
      ->required();
  verb->add_option("-o,--output", arguments->output, "File to write, .jsonl")->check(output_file());
  add_number(*verb, "--documents", arguments->documents, "Documents", Limits{1, 1e7})->capture_default_str();
  add_number(*verb, "--words", arguments->words, "Words of a document", kTokens)->capture_default_str();
  add_number(*verb, "--seed", arguments->seed, "Seed of the text", kAny)->capture_default_str();
  verb->add_option("--tokenizer", arguments->tokenizer,
                   "Also write a tokenizer, a SentencePiece model that has each word as one token")
      ->check(output_file())
      ->group("recall");
  add_fields(*verb, arguments->recall, "recall");
  add_fields(*verb, arguments->ruler, "ruler", {"shortest"});
  add_fields(*verb, arguments->tales, "tales");
  verb->get_option("--ruler-tasks")->delimiter(',')->allow_extra_args(false);
  verb->callback([verb, arguments] { write_text(*verb, *arguments); });
}

}  // namespace lact::cli
