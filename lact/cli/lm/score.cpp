#include <cmath>
#include <filesystem>
#include <iostream>

#include "lact/base/error.h"
#include "lact/base/memory_use.h"
#include "lact/base/progress.h"
#include "lact/cli/fields.h"
#include "lact/cli/lm/lm.h"
#include "lact/data/text/text_file.h"
#include "lact/data/text/text_format.h"
#include "lact/tasks/lm/evaluation/text_score.h"
#include "lact/tasks/lm/session.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace lact::cli {

namespace {

struct ScoreArguments {
  LmArguments lm;
  std::vector<std::string> texts;
  data::TextFormat format;
  bool json = false;
};

struct Score {
  std::string file;
  int64_t tokens = 0, scored = 0, bytes = 0;
  double nats = 0;

  nlohmann::ordered_json json() const {
    const double loss = nats / double(scored);
    return {{"file", file},
            {"tokens", tokens},
            {"bytes", bytes},
            {"loss", loss},
            {"perplexity", std::exp(loss)},
            {"bits_per_byte", nats / std::log(2.0) / double(bytes)}};
  }
};

Score score(const tasks::lm::Loaded& lm, const std::string& file, const data::TextFormat& format) {
  models::LmStream stream(lm.model);
  tasks::lm::TextScorer scorer(stream);
  Progress progress("score " + std::filesystem::path(file).filename().string(), 0);
  const auto read = [&](std::span<const int64_t> tokens) {
    scorer.read(tokens);
    progress.update(stream.position(), fmt::format("loss {:.4f}", scorer.mean()));
  };
  const uint64_t bytes = tasks::lm::read_in_chunks(lm, file, read, format);
  LACT_CHECK(scorer.scored() > 0, "{}: has one token, expected at least two to predict one", file);
  return {file, stream.position(), scorer.scored(), int64_t(bytes), scorer.total()};
}

void run_score(const ScoreArguments& arguments) {
  const auto files = data::find_text_files(arguments.texts);
  return_freed_memory();
  const auto lm = load_lm(arguments.lm.model, arguments.lm.load);
  std::vector<Score> scores;
  for (const auto& file : files) scores.push_back(score(lm, file, arguments.format));
  if (scores.size() > 1) {
    Score all;
    all.file = "all";
    for (const auto& one : scores) {
      all.tokens += one.tokens, all.scored += one.scored, all.bytes += one.bytes, all.nats += one.nats;
    }
    scores.push_back(all);
  }
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const auto& one : scores) {
    rows.push_back(one.json());
    rows.back()["weight_error"] = lm.weight_error;
  }
  if (arguments.json) {
    std::cout << rows.dump(2) << "\n";
    return;
  }
  std::cout << fmt::format("{:<40}{:>10}{:>10}{:>12}{:>15}\n", "file", "tokens", "loss", "perplexity",
                           "bits per byte");
  for (const auto& row : rows) {
    std::cout << fmt::format("{:<40}{:>10}{:>10.4f}{:>12.3f}{:>15.4f}\n",
                             std::filesystem::path(row["file"].get<std::string>()).filename().string(),
                             row["tokens"].get<int64_t>(), row["loss"].get<double>(),
                             row["perplexity"].get<double>(), row["bits_per_byte"].get<double>());
  }
}

}  // namespace

void add_lm_score(CLI::App& task) {
  const auto arguments = std::make_shared<ScoreArguments>();
  auto* verb = task.add_subcommand("score", "Loss, perplexity and bits per byte of texts, each read whole");
  verb->footer("Example: lact lm score --model run book.txt");
  add_lm_options(*verb, arguments->lm);
  verb->add_option("TEXT", arguments->texts, "Text or JSON-lines files or folders, also packed")->required();
  add_fields(*verb, arguments->format);
  verb->add_flag("--json", arguments->json, "Print for a program to read");
  verb->callback([arguments] { run_score(*arguments); });
}

}  // namespace lact::cli
