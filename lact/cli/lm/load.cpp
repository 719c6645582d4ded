#include <CLI/CLI.hpp>

#include <filesystem>

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/base/memory_use.h"
#include "lact/base/options.h"
#include "lact/cli/lm/lm.h"
#include "lact/models/lm/folder.h"
#include "lact/tasks/lm/training/run.h"

namespace lact::cli {

void add_tokenizer_and_precision(CLI::App& verb, LmArguments& arguments) {
  verb.add_option("--tokenizer", arguments.tokenizer,
                  "bytes or a SentencePiece model; by default the model folder's");
  verb.add_option("--precision", arguments.precision, "f32 or bf16")->capture_default_str();
}

void add_lm_options(CLI::App& verb, LmArguments& arguments) {
  verb.add_option("-m,--model", arguments.model, "Model folder")->required();
  add_tokenizer_and_precision(verb, arguments);
  verb.add_option("--weights", arguments.weights, "How weights are kept in memory: f32, bf16 or int8")
      ->capture_default_str();
}

LoadedLm load_lm(const LmArguments& arguments, bool with_fingerprint) {
  const std::string& folder = arguments.model;
  train::Precision type{};
  options::read(options::Json(arguments.precision), type, "precision");
  ops::WeightFormat format{};
  options::read(options::Json(arguments.weights), format, "weights");
  const bool own = std::filesystem::exists(std::filesystem::path(folder) / "tokenizer.model");
  const models::LmConfig config = models::read_lm_config(folder);
  models::warn_of_unseen_tokens(config, folder);
  LoadedLm loaded;
  loaded.tokenizer = data::read_tokenizer(!arguments.tokenizer.empty() ? arguments.tokenizer
                                          : own                        ? folder
                                                                       : "bytes");
  LACT_CHECK(loaded.tokenizer->vocabulary_size() <= config.vocabulary_size,
             "{}: the tokenizer ({}) has {} tokens but the model's vocabulary is {}", folder,
             loaded.tokenizer->description(), loaded.tokenizer->vocabulary_size(), config.vocabulary_size);
  return_freed_memory();
  loaded.model = models::load_lm(folder);
  loaded.model->set_compute_type(train::compute_type(type));
  loaded.model->eval();
  if (with_fingerprint) loaded.fingerprint = models::fingerprint(*loaded.model);
  if (format != ops::WeightFormat::f32) {
    loaded.weight_error = loaded.model->compress_weights(format).relative();
    log::info("weights as {}: relative error {:.2e}", arguments.weights, loaded.weight_error);
  }
  return loaded;
}

}  // namespace lact::cli
