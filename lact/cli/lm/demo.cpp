// `lact lm demo`: the same small model with fast weights, without them and with full attention, trained on
// the built-in text and asked for what was said long ago.
#include <CLI/CLI.hpp>

#include <chrono>
#include <filesystem>
#include <iostream>

#include "lact/base/error.h"
#include "lact/base/format.h"
#include "lact/base/memory_use.h"
#include "lact/base/random.h"
#include "lact/base/threads.h"
#include "lact/cli/lm/demo.h"
#include "lact/cli/lm/lm.h"
#include "lact/cli/numbers.h"
#include "lact/cli/outputs.h"
#include "lact/data/text/token_cache.h"
#include "lact/data/text/train_tokenizer.h"
#include "lact/io/atomic_file.h"
#include "lact/models/lm/presets.h"
#include "lact/tasks/lm/session.h"

namespace lact::cli {

namespace fs = std::filesystem;

namespace {

struct DemoArguments {
  std::string output = "out/demo";
  int64_t steps = 600, seed = 1;
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

struct DemoModel {
  const char* name;
  const char* folder;
  std::vector<std::string> set;  ///< fields that differ from lm_recall
};

/// LaCT with Muon is the first: the others are compared with it.
std::vector<DemoModel> demo_models() {
  return {{"LaCT, Muon", "lact_muon", {}},
          {"LaCT, descent",
           "lact_descent",
           {"layer.memory.update.muon=false", "layer.memory.update.momentum=false"}},
          {"full attention", "full", {"mixer=full"}},
          {"window only", "window_only", {"mixer=window"}}};
}

/// All have the same data in the same order, and weights from the same seed.
DemoRun make_run(const DemoArguments& arguments, const fs::path& folder, const std::string& tokenizer,
                 const DemoModel& model) {
  DemoRun run{model.name, (folder / model.folder).string(), {}};
  run.words = {"-q", "--threads", "1", "lm", "train", "--config", "lm_recall"};
  for (const auto& field : model.set) run.words.insert(run.words.end(), {"--set", field});
  const std::vector<std::pair<std::string, std::string>> options = {
      {"--tokenizer", tokenizer},
      {"--batch", "8"},
      {"--length", "256"},
      {"--steps", std::to_string(arguments.steps)},
      {"--rate", "0.01"},
      {"--rate-floor", "0.05"},
      {"--warmup", "30"},
      {"--weight-decay", "0"},
      {"--validate-every", "100"},
      {"--precision", "f32"},  // the numbers that the documentation quotes
      {"--seed", std::to_string(arguments.seed)},
      {"-o", run.folder}};
  for (const auto& [name, value] : options) run.words.insert(run.words.end(), {name, value});
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

  const auto layer = models::lm_recall();
  DemoResult result;
  result.text = text;
  result.window = layer.window_size;
  result.chunk = layer.chunk_size;
  result.convolution = layer.layer.projection.conv_width > 0;
  for (const auto& model : demo_models()) {
    result.runs.push_back(make_run(arguments, folder, tokenizer, model));
    if (fs::exists(fs::path(result.runs.back().folder) / "run.json"))
      fs::remove_all(result.runs.back().folder);
  }
  train_demo(result.runs, arguments.steps);
  std::vector<NamedLm> models;
  for (const auto& run : result.runs) {
    models.push_back({run.name, tasks::lm::load(run.folder, {.precision = ops::Precision::f32})});
    result.parameters.push_back(models::cost(models.back().lm.model->config()).total().parameters);
  }
  use_threads(1);  // so little work that a second thread would only wait
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
  auto* verb = task.add_subcommand(
      "demo", "Train with fast weights, without and with full attention, and show what each remembers");
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
