#include "lact/tasks/lm/training/run.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <filesystem>

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/base/random.h"
#include "lact/data/text/documents.h"
#include "lact/data/text/split.h"
#include "lact/data/text/text_file.h"
#include "lact/data/text/token_cache.h"
#include "lact/models/common/config_file.h"
#include "lact/models/lm/folder.h"
#include "lact/ops/dispatch/device.h"
#include "lact/train/memory_needed.h"

namespace lact::tasks::lm {

namespace fs = std::filesystem;

namespace {

std::shared_ptr<data::TokenArray> open_text(const data::Tokenizer& tokenizer, std::vector<std::string> paths,
                                            const DataOptions& options) {
  return data::open_corpus(
      tokenizer, {std::move(paths), options.cache, [](const std::string& text) { log::info("{}", text); },
                  options.format});
}

std::vector<data::TokenRange> all(const data::TokenArray& tokens) { return {{0, tokens.size()}}; }

}  // namespace

void DataOptions::check() const {
  LACT_CHECK(valid_share >= 0 && valid_share < 1, "[train] valid_share is {}, expected 0 to below 1",
             valid_share);
  LACT_CHECK(!data.empty() || valid.empty(), "[train] --valid needs --data");
  recall.check();
  ruler.check();
  tales.check();
}

Sources open_sources(const DataOptions& options, int64_t seed) {
  options.check();
  Sources sources;
  sources.tokenizer = data::read_tokenizer(options.tokenizer);
  const data::Tokenizer& tokenizer = *sources.tokenizer;
  const auto order = uint64_t(seed);
  if (options.data.empty()) {
    const auto sequences = [&](uint64_t part) {
      const uint64_t part_seed = mix(order, part);
      switch (options.text) {
        case BuiltInText::ruler:
          return data::ruler_sequences(tokenizer, options.ruler, part_seed);
        case BuiltInText::tales:
          return data::tale_sequences(tokenizer, options.tales, part_seed);
        default:
          return data::recall_sequences(tokenizer, options.recall, part_seed);
      }
    };
    sources.train = sequences(1);
    sources.valid = sequences(2);
    return sources;
  }
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

options::Json Run::in_todays_words(options::Json run) {
  if (run.is_object() && run.contains("model")) run["model"] = models::in_todays_words(run["model"]);
  return run;
}

void Run::check() const {
  model.check();
  data.check();
  batches.check();
  LACT_CHECK(
      !batches.pack_documents || !data.data.empty() || data.text == BuiltInText::ruler,
      "[train] --pack-documents needs --data or --text ruler: a sequence of the others is one document");
  LACT_CHECK(!batches.answers_only || (data.data.empty() && data.text != BuiltInText::tales),
             "[train] --answers-only needs --text recall or ruler: it is not known what the questions of "
             "other texts are");
  training.check();
}

void Run::make_paths_absolute() {
  train::make_absolute(data.data);
  train::make_absolute(data.valid);
  train::make_absolute(data.tokenizer, "bytes");
  train::make_absolute(data.cache);
}

void Run::use_copies_in(const std::string& folder) {
  const fs::path copy = fs::path(folder) / "tokenizer.model";
  if (fs::exists(copy)) data.tokenizer = copy.string();
}

std::shared_ptr<train::Task> Run::make_task(const std::string& /*folder*/, const std::string& initial) {
  if (initial.empty()) {
    const auto parameters = double(models::cost(model).total().parameters);
    train::check_memory_to_train({parameters, parameters}, training);
  }
  const Sources sources = open_sources(data, training.seed);
  at::manual_seed(uint64_t(training.seed));
  const auto made =
      initial.empty() ? std::make_shared<models::LanguageModel>(model) : models::load_lm_as(model, initial);
  precision = ops::announced(precision);
  made->set_compute_type(ops::compute_type(precision));
  made->set_recompute(recompute);
  made->to(ops::compute_device());
  return std::make_shared<TrainingTask>(made, sources, batches);
}

}  // namespace lact::tasks::lm
