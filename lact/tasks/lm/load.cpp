#include "lact/tasks/lm/load.h"

#include <filesystem>

#include "lact/base/data_folder.h"
#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/base/options.h"
#include "lact/models/lm/folder.h"
#include "lact/ops/dispatch/device.h"

namespace lact::tasks::lm {

namespace {

std::shared_ptr<data::Tokenizer> tokenizer_for(const std::string& folder, const std::string& given) {
  if (!given.empty()) return data::read_tokenizer(given);
  const bool has_own = std::filesystem::exists(std::filesystem::path(folder) / "tokenizer.model");
  return data::read_tokenizer(has_own ? folder : "bytes");
}

ops::CacheFormat cache_for(ops::CacheFormat cache, ops::WeightFormat weights) {
  const bool follows = cache == ops::CacheFormat::automatic && weights == ops::WeightFormat::int8;
  return follows ? ops::CacheFormat::int8 : cache;
}

}  // namespace

std::string shipped_weights() { return find_data_folder({"weights/lm", "weights/lm", "config.json"}); }

Loaded load(const std::string& folder_or_none, const LoadOptions& options, bool with_fingerprint) {
  const at::Device device = ops::compute_device();
  const auto weights = device.is_cpu() || options.weights != ops::WeightFormat::automatic
                           ? options.weights
                           : ops::WeightFormat::f32;
  LACT_CHECK(device.is_cpu() || weights == ops::WeightFormat::f32,
             "[lm] weights as {} are for the processor, expected f32 on {}", options::word_of(weights),
             device.str());
  const std::string folder = folder_or_none.empty() ? shipped_weights() : folder_or_none;
  LACT_CHECK(!folder.empty(),
             "no weights come with this build (weights/lm was not found); --model names a model folder, and "
             "lact lm train makes one");
  // Small things first: what is wrong with them is known before gigabytes are read.
  const models::LmConfig config = models::read_lm_config(folder);
  Loaded loaded;
  loaded.path = folder;
  loaded.tokenizer = tokenizer_for(folder, options.tokenizer);
  LACT_CHECK(loaded.tokenizer->vocabulary_size() <= config.vocabulary_size,
             "{}: the tokenizer ({}) has {} tokens but the model's vocabulary is {}", folder,
             loaded.tokenizer->description(), loaded.tokenizer->vocabulary_size(), config.vocabulary_size);
  auto read =
      models::load_lm_for_inference(folder, weights, ops::announced(options.precision), with_fingerprint);
  loaded.model = std::move(read.model);
  loaded.weights = read.format;
  loaded.fingerprint = std::move(read.fingerprint);
  loaded.weight_error = read.error.relative();
  loaded.model->to(device);
  loaded.model->eval();
  loaded.model->set_cache(cache_for(options.cache, read.format));
  if (read.error.lost > 0) {
    log::info("weights as {}: relative error {:.2e}", options::word_of(read.format), loaded.weight_error);
  }
  return loaded;
}

std::string fingerprint_of(const Loaded& lm) {
  return lm.fingerprint.empty() ? models::fingerprint(*lm.model) : lm.fingerprint;
}

models::Vocabulary vocabulary_of(const data::Tokenizer& tokenizer) {
  return {tokenizer.end_of_text(), [&tokenizer](int64_t token) {
            // A model may have more tokens than its tokenizer, for padding.
            return token < tokenizer.vocabulary_size() ? tokenizer.token_bytes(int32_t(token))
                                                       : std::string();
          }};
}

}  // namespace lact::tasks::lm
