#include "lact/tasks/lm/training/run.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <filesystem>

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/base/options.h"
#include "lact/base/random.h"
#include "lact/data/text/documents.h"
#include "lact/data/text/split.h"
#include "lact/data/text/text_file.h"
#include "lact/data/text/token_cache.h"
#include "lact/io/atomic_file.h"
#include "lact/models/lm/folder.h"
#include "lact/train/run_folder.h"

namespace lact::train {

namespace fs = std::filesystem;

namespace {

std::shared_ptr<data::TokenArray> open_text(const data::Tokenizer& tokenizer, std::vector<std::string> paths,
                                            const LmDataOptions& options) {
  return data::open_corpus(
      tokenizer, {std::move(paths), options.cache, [](const std::string& text) { log::info("{}", text); },
                  options.format});
}

std::vector<data::TokenRange> all(const data::TokenArray& tokens) { return {{0, tokens.size()}}; }

std::shared_ptr<LmTask> make_task(const LmRun& run, const LmSources& sources,
                                  std::shared_ptr<models::LanguageModel> model) {
  model->set_compute_type(compute_type(run.precision));
  model->set_recompute(run.recompute);
  const int64_t vocabulary = model->config().vocabulary_size;
  LACT_CHECK(sources.tokenizer->vocabulary_size() <= vocabulary,
             "[train] the tokenizer has {} tokens but the model's vocabulary only {}",
             sources.tokenizer->vocabulary_size(), vocabulary);
  models::warn_of_unseen_tokens(model->config(), "the model");
  return std::make_shared<LmTask>(std::move(model), sources.train, sources.valid, run.batches);
}

}  // namespace

void LmRun::check() const {
  model.check();
  training.check();
  batches.check();
}

LmSources open_sources(const LmDataOptions& options, int64_t seed) {
  LmSources sources;
  sources.tokenizer = data::read_tokenizer(options.tokenizer);
  const data::Tokenizer& tokenizer = *sources.tokenizer;
  const auto order = uint64_t(seed);
  if (options.data.empty()) {
    LACT_CHECK(options.valid.empty(), "[train] --valid needs --data");
    sources.train = data::recall_sequences(tokenizer, options.recall, mix(order, 1));
    sources.valid = data::recall_sequences(tokenizer, options.recall, mix(order, 2));
    return sources;
  }
  LACT_CHECK(options.valid_share >= 0 && options.valid_share < 1,
             "[train] valid_share is {}, expected 0 to below 1", options.valid_share);
  auto files = data::find_text_files(options.data);
  auto valid_files =
      options.valid.empty() ? std::vector<std::string>() : data::find_text_files(options.valid);
  // Files that hold many documents are split by documents.
  const bool many = std::any_of(files.begin(), files.end(), data::has_json_lines);
  if (valid_files.empty() && options.valid_share > 0 && files.size() > 1 && !many) {
    auto split = data::split_files(files, options.valid_share, order);
    files = std::move(split.train);
    valid_files = std::move(split.valid);
  }
  const auto tokens = open_text(tokenizer, files, options);
  std::vector<data::TokenRange> train = all(*tokens), valid;
  if (valid_files.empty() && options.valid_share > 0) {
    std::tie(train, valid) = data::split_documents(*tokens, options.valid_share, order);
  }
  sources.train = data::shuffled_sequences(tokens, train, mix(order, 1));
  if (!valid_files.empty()) {
    const auto kept = open_text(tokenizer, valid_files, options);
    sources.valid = data::consecutive_sequences(kept, all(*kept));
  } else if (!valid.empty()) {
    sources.valid = data::consecutive_sequences(tokens, valid);
  }
  return sources;
}

TrainResult start_run(const LmRun& given, const RunOptions& where, const std::string& initial_model) {
  LmRun run = given;
  make_absolute(run.data.data);
  make_absolute(run.data.valid);
  run.training.check();
  run.batches.check();
  check_no_run(where.folder);
  const LmSources sources = open_sources(run.data, run.training.seed);
  at::manual_seed(uint64_t(run.training.seed));
  const auto model = initial_model.empty() ? std::make_shared<models::LanguageModel>(run.model)
                                           : models::load_lm(initial_model);
  const auto task = make_task(run, sources, model);

  models::save_lm_config(where.folder, run.model);
  const std::string bytes = sources.tokenizer->model_bytes();
  if (!bytes.empty()) {
    const std::string file = (fs::path(where.folder) / "tokenizer.model").string();
    io::write_file_atomically(file, [&](io::FileWriter& out) { out.write(bytes); });
    run.data.tokenizer = fs::absolute(file).string();
  }
  write_run_file(where.folder, run);
  return train(*task, run.training, where);
}

LmRun read_run(const std::string& folder) {
  auto run = read_run_file<LmRun>(folder);
  // The run's own copy, wherever the folder has been moved.
  const fs::path copy = fs::path(folder) / "tokenizer.model";
  if (fs::exists(copy)) run.data.tokenizer = copy.string();
  return run;
}

TrainResult resume_run(const RunOptions& options) {
  const LmRun run = read_run(options.folder);
  const LmSources sources = open_sources(run.data, run.training.seed);
  at::manual_seed(uint64_t(run.training.seed));
  const auto task = make_task(run, sources, std::make_shared<models::LanguageModel>(run.model));
  RunOptions resumed = options;
  resumed.resume = true;
  return train(*task, run.training, resumed);
}

}  // namespace lact::train
