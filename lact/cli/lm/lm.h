// The verbs of `lact lm`, one file each, and what they share.
#pragma once

#include <memory>
#include <string>

#include "lact/data/text/tokenizer.h"
#include "lact/models/lm/model.h"

namespace CLI {
class App;
}

namespace lact::cli {

void add_lm_train(CLI::App& task, int& exit_code);
void add_lm_eval(CLI::App& task);
void add_lm_generate(CLI::App& task);
void add_lm_ingest(CLI::App& task);
void add_lm_score(CLI::App& task);
void add_lm_tokenizer(CLI::App& task);
void add_lm_demo(CLI::App& task);

/// A model folder with its tokenizer: tokenizer.model if the folder holds one, else bytes.
struct LoadedLm {
  std::shared_ptr<models::LanguageModel> model;
  std::shared_ptr<data::Tokenizer> tokenizer;
  std::string fingerprint;  ///< of the weights as they were saved; empty unless asked for
  double weight_error = 0;  ///< |compressed - weights| / |weights|
};

/// Which model to run, and how.
struct LmArguments {
  std::string model, tokenizer, precision = "f32", weights = "f32";
};
void add_tokenizer_and_precision(CLI::App& verb, LmArguments& arguments);
/// The same, --model and --weights.
void add_lm_options(CLI::App& verb, LmArguments& arguments);

/// `arguments.tokenizer` overrides the folder's own unless it is empty. Throws if it does not fit the
/// vocabulary.
LoadedLm load_lm(const LmArguments& arguments, bool with_fingerprint = false);

}  // namespace lact::cli
