#include "lact/tasks/lm/load.h"

#include <filesystem>

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/base/options.h"
#include "lact/models/lm/folder.h"

namespace lact::tasks::lm {

namespace {

std::shared_ptr<data::Tokenizer> tokenizer_for(const std::string& folder, const std::string& given) {
  if (!given.empty()) return data::read_tokenizer(given);
  const bool has_own = std::filesystem::exists(std::filesystem::path(folder) / "tokenizer.model");
  return data::read_tokenizer(has_own ? folder : "bytes");
}

}  // namespace

Loaded load(const std::string& folder, const LoadOptions& options, bool with_fingerprint) {
  // Small things first: what is wrong with them is known before gigabytes are read.
  const models::LmConfig config = models::read_lm_config(folder);
  Loaded loaded;
  loaded.tokenizer = tokenizer_for(folder, options.tokenizer);
  LACT_CHECK(loaded.tokenizer->vocabulary_size() <= config.vocabulary_size,
             "{}: the tokenizer ({}) has {} tokens but the model's vocabulary is {}", folder,
             loaded.tokenizer->description(), loaded.tokenizer->vocabulary_size(), config.vocabulary_size);
  loaded.model = models::load_lm(folder);
  loaded.model->set_compute_type(ops::compute_type(options.precision));
  loaded.model->eval();
  if (with_fingerprint) loaded.fingerprint = models::fingerprint(*loaded.model);
  if (options.weights != ops::WeightFormat::f32) {
    loaded.weight_error = loaded.model->compress_weights(options.weights).relative();
    log::info("weights as {}: relative error {:.2e}", options::word_of(options.weights), loaded.weight_error);
  }
  return loaded;
}

}  // namespace lact::tasks::lm
