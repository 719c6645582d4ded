// `lact lm recall-text`: the built-in text as a file to measure on, and a tokenizer of its words.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <iostream>

#include "lact/base/error.h"
#include "lact/base/random.h"
#include "lact/cli/fields.h"
#include "lact/cli/lm/lm.h"
#include "lact/cli/numbers.h"
#include "lact/cli/outputs.h"
#include "lact/data/text/recall_text.h"
#include "lact/data/text/word_model.h"
#include "lact/io/atomic_file.h"

namespace lact::cli {

namespace {

struct RecallTextArguments {
  std::string output, tokenizer;
  int64_t documents = 64, words = 1024, seed = 1000;
  data::RecallTextOptions text;
};

void run_recall_text(const RecallTextArguments& arguments) {
  LACT_CHECK(!arguments.output.empty() || !arguments.tokenizer.empty(),
             "[recall-text] give --output, --tokenizer or both");
  arguments.text.check();
  if (!arguments.tokenizer.empty()) {
    const std::string model = data::word_model(data::recall_words(arguments.text));
    io::write_file_atomically(arguments.tokenizer, [&](io::FileWriter& file) { file.write(model); });
    std::cout << fmt::format("{}: a tokenizer of {} words\n", arguments.tokenizer,
                             data::recall_words(arguments.text).size());
  }
  if (arguments.output.empty()) return;
  io::write_file_atomically(arguments.output, [&](io::FileWriter& file) {
    for (int64_t i = 0; i < arguments.documents; ++i) {
      const auto document =
          data::recall_text(arguments.text, mix(uint64_t(arguments.seed), uint64_t(i)), arguments.words);
      file.write(nlohmann::json{{"text", document.text()}}.dump() + "\n");
    }
  });
  std::cout << fmt::format("{}: {} documents of {} words\n", arguments.output, arguments.documents,
                           arguments.words);
}

}  // namespace

void add_lm_recall_text(CLI::App& task) {
  const auto arguments = std::make_shared<RecallTextArguments>();
  auto* verb = task.add_subcommand(
      "recall-text", "Write the built-in text, on which training goes without --data, and its tokenizer");
  verb->footer(
      "Example: lact lm recall-text -o valid.jsonl --tokenizer words.model\n"
      "         lact lm train --config lm_recall --tokenizer words.model -o run\n"
      "         lact lm eval -m run --data valid.jsonl --length 1024\n"
      "Names and things are bound anew in each document. The tokenizer has each word as one token.");
  verb->add_option("-o,--output", arguments->output, "JSON lines to write, a document each")
      ->check(output_file());
  verb->add_option("--tokenizer", arguments->tokenizer, "Tokenizer to write, a SentencePiece model")
      ->check(output_file());
  add_number(*verb, "--documents", arguments->documents, "documents", Limits{1, 1e6})->capture_default_str();
  add_number(*verb, "--words", arguments->words, "words of a document, at least", kTokens)
      ->capture_default_str();
  add_number(*verb, "--seed", arguments->seed, "seed of the documents", kAny)->capture_default_str();
  add_fields(*verb, arguments->text, "Built-in text");
  verb->callback([arguments] { run_recall_text(*arguments); });
}

}  // namespace lact::cli
