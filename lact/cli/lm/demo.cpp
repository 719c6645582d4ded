// `lact lm demo`: the same small model with and without fast weights, trained on the built-in text and asked
// for what was said long ago.
#include <CLI/CLI.hpp>

#include <chrono>
#include <filesystem>
#include <iostream>

#include "lact/base/error.h"
#include "lact/base/format.h"
#include "lact/base/log.h"
#include "lact/base/memory_use.h"
#include "lact/base/random.h"
#include "lact/cli/lm/demo.h"
#include "lact/cli/lm/lm.h"
#include "lact/cli/numbers.h"
#include "lact/cli/outputs.h"
#include "lact/data/text/token_cache.h"
#include "lact/data/text/train_tokenizer.h"
#include "lact/io/atomic_file.h"
#include "lact/models/lm/presets.h"
#include "lact/tasks/lm/session.h"
#include "lact/tasks/lm/training/run.h"

namespace lact::cli {

namespace fs = std::filesystem;

namespace {

struct DemoArguments {
  std::string output = "out/demo";
  int64_t steps = 700, seed = 1;
};

void write_text(const std::string& path, const std::string& text) {
  io::write_file_atomically(path, [&](io::FileWriter& file) { file.write(text); });
}

/// A tokenizer for which each word of the built-in text is one token.
std::string make_tokenizer(const fs::path& folder, const data::RecallTextOptions& text) {
  const std::string sample = (folder / "sample.txt").string(), model = (folder / "tokenizer.model").string();
  write_text(sample, data::recall_sample(text, 5, 40000));
  data::TrainTokenizerOptions options;
  options.files = {sample};
  options.output = model;
  options.pieces.vocabulary_size = 640;
  data::train_sentencepiece(options);
  return model;
}

tasks::lm::Run make_run(const DemoArguments& arguments, const std::string& tokenizer, bool remembers) {
  tasks::lm::Run run;
  run.model = models::lm_recall();
  run.model.vocabulary_size = data::read_tokenizer(tokenizer)->vocabulary_size();
  run.model.mixer = remembers ? models::MixerKind::lact : models::MixerKind::window;
  run.precision = ops::Precision::f32;  // the numbers that the documentation quotes
  run.data.tokenizer = tokenizer;
  run.batches = {.batch = 8, .length = 256, .valid_sequences = 16};
  run.training.steps = arguments.steps;
  run.training.rate = 0.01;
  run.training.rate_floor = 0.05;
  run.training.warmup = 30;
  run.training.adamw.weight_decay = 0;
  run.training.seed = arguments.seed;
  run.training.validate_every = 100;
  return run;
}

/// Loss by position on long documents that no one trained on.
std::vector<tasks::lm::PositionLoss> position_losses(const fs::path& folder,
                                                     const std::vector<NamedLm>& models,
                                                     const data::RecallTextOptions& text) {
  constexpr int64_t kDocuments = 24, kLength = 1024;
  std::vector<std::string> files;
  fs::create_directories(folder / "valid");
  for (int64_t i = 0; i < kDocuments; ++i) {
    files.push_back((folder / "valid" / fmt::format("{:02}.txt", i)).string());
    write_text(files.back(), data::recall_text(text, mix(77, uint64_t(i)), kLength + 8).text());
  }
  std::vector<tasks::lm::PositionLoss> losses;
  for (const auto& [name, lm] : models) {
    const auto tokens = data::open_corpus(*lm.tokenizer, {files, (folder / "cache").string(), {}});
    losses.push_back(
        tasks::lm::position_loss(name, lm.model, *tokens, {.length = kLength, .sequences = kDocuments}));
  }
  return losses;
}

/// A document up to a name that was last mentioned far away, and what each model writes next.
DemoSample make_sample(const std::vector<NamedLm>& models, const data::RecallTextOptions& text) {
  const auto document = data::recall_text(text, 4242, 200);
  const auto far = std::max_element(
      document.answers.begin(), document.answers.end(),
      [](const auto& a, const auto& b) { return a.word - a.mentioned < b.word - b.mentioned; });
  DemoSample sample;
  for (int64_t i = 0; i < far->word; ++i) sample.prompt += (i > 0 ? " " : "") + document.words[size_t(i)];
  sample.answer = document.words[size_t(far->word)];
  sample.distance = far->word - far->mentioned;
  for (const auto& [name, lm] : models) {
    models::GenerateOptions options;
    options.max_tokens = 8;
    options.sampling.temperature = 0;
    sample.written[name] = tasks::lm::Session(lm).write(sample.prompt, options).bytes;
  }
  return sample;
}

void run_demo(const DemoArguments& arguments) {
  const auto start = std::chrono::steady_clock::now();
  const fs::path folder = arguments.output;
  std::error_code error;
  fs::create_directories(folder, error);
  LACT_CHECK(!error, "{}: cannot be created: {}", arguments.output, error.message());
  const data::RecallTextOptions text;
  const std::string tokenizer = make_tokenizer(folder, text);

  DemoResult result;
  result.text = text;
  std::vector<NamedLm> models;
  for (const bool remembers : {true, false}) {
    const std::string name = remembers ? "LaCT, Muon" : "window only";
    const fs::path run_folder = folder / (remembers ? "lact" : "window_only");
    if (fs::exists(run_folder / "run.json")) fs::remove_all(run_folder);
    const auto run = make_run(arguments, tokenizer, remembers);
    result.runs.push_back({name, run_folder.string(), run,
                           train::start_run(run, {.folder = run_folder.string(), .title = name})});
    LACT_CHECK(result.runs.back().outcome.finished, "[demo] interrupted; nothing is reported");
    models.push_back({name, tasks::lm::load(run_folder.string(), {.precision = ops::Precision::f32})});
  }
  return_freed_memory();
  for (const auto& [name, lm] : models) {
    result.recalls.push_back(tasks::lm::recall(name, *lm.model, *lm.tokenizer, text,
                                               {.length = 512, .documents = 64, .seed = 1000}));
  }
  result.losses = position_losses(folder, models, text);
  result.sample = make_sample(models, text);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::cout << demo_text(result);
  write_demo(result, folder.string());
  std::cout << fmt::format("\nwrote {0}/report.html and {0}/result.json in {1}\n", arguments.output,
                           format_duration(result.seconds));
}

}  // namespace

void add_lm_demo(CLI::App& task) {
  const auto arguments = std::make_shared<DemoArguments>();
  auto* verb =
      task.add_subcommand("demo", "Train with and without fast weights, and show what each remembers");
  verb->footer("Example: lact lm demo -o out/demo");
  verb->add_option("-o,--output", arguments->output, "Folder for the report and the models")
      ->check(output_folder())
      ->capture_default_str();
  add_number(*verb, "--steps", arguments->steps, "Training steps of each model", kFromOne)
      ->capture_default_str();
  add_number(*verb, "--seed", arguments->seed, "Seed of weights and text", kAny)->capture_default_str();
  verb->callback([arguments] { run_demo(*arguments); });
}

}  // namespace lact::cli
