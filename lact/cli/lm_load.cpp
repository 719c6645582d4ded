#include <filesystem>

#include "lact/base/error.h"
#include "lact/base/memory_use.h"
#include "lact/base/options.h"
#include "lact/cli/lm.h"
#include "lact/models/lm/folder.h"
#include "lact/train/tasks/lm_run.h"

namespace lact::cli {

LoadedLm load_lm(const std::string& folder, const std::string& tokenizer, const std::string& precision) {
  train::Precision type{};
  options::read(options::Json(precision), type, "precision");
  const bool own = std::filesystem::exists(std::filesystem::path(folder) / "tokenizer.model");
  const models::LmConfig config = models::read_lm_config(folder);
  LoadedLm loaded;
  loaded.tokenizer = data::read_tokenizer(!tokenizer.empty() ? tokenizer : own ? folder : "bytes");
  LACT_CHECK(loaded.tokenizer->vocabulary_size() <= config.vocabulary_size,
             "{}: the tokenizer ({}) has {} tokens but the model's vocabulary is {}", folder,
             loaded.tokenizer->description(), loaded.tokenizer->vocabulary_size(), config.vocabulary_size);
  return_freed_memory();
  loaded.model = models::load_lm(folder);
  loaded.model->set_compute_type(train::compute_type(type));
  loaded.model->eval();
  return loaded;
}

}  // namespace lact::cli
