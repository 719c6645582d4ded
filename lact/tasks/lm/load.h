// A model folder becomes a language model and its tokenizer.
#pragma once

#include <memory>
#include <string>

#include "lact/data/text/tokenizer.h"
#include "lact/models/lm/generate.h"
#include "lact/ops/dispatch/precision.h"
#include "lact/ops/linear/compressed_linear.h"

namespace lact::tasks::lm {

struct LoadOptions {
  std::string tokenizer = {};
  ops::Precision precision = ops::Precision::automatic;
  ops::WeightFormat weights = ops::WeightFormat::automatic;
  ops::CacheFormat cache = ops::CacheFormat::automatic;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("tokenizer", tokenizer, "bytes or a SentencePiece model; by default the model folder's");
    field("precision", precision, "f32, bf16, or auto: bf16 where this processor multiplies it faster");
    field("weights", weights,
          "How weights are kept in memory: f32, bf16, int8, or auto: as the file has them or as is computed, "
          "whichever is smaller");
    field("cache", cache,
          "How the window's keys and values are kept: f32, bf16, int8, or auto: as is computed, int8 with "
          "weights of int8");
  }
  bool operator==(const LoadOptions&) const = default;
};

struct Loaded {
  std::string path;  ///< the folder
  std::shared_ptr<models::LanguageModel> model;
  std::shared_ptr<data::Tokenizer> tokenizer;
  ops::WeightFormat weights = ops::WeightFormat::f32;  ///< how they are kept; never `automatic`
  std::string fingerprint;  ///< of the weights as they were saved; "" if it was not asked for
  double weight_error = 0;  ///< |compressed - weights| / |weights|
};

/// The weights that come with the program; "" where there are none.
std::string shipped_weights();

/// "": the shipped weights. The tokenizer is the folder's tokenizer.model, or bytes if it holds none. Throws
/// a sentence if the tokenizer does not fit the vocabulary. Memory files need the fingerprint; who has none
/// of them saves a pass over the weights without it.
Loaded load(const std::string& folder, const LoadOptions& options = {}, bool with_fingerprint = true);

/// Of the weights as they were saved, taken now if it was not when they were read.
std::string fingerprint_of(const Loaded& lm);

/// What generation needs to know of the tokenizer, which has to outlive it.
models::Vocabulary vocabulary_of(const data::Tokenizer& tokenizer);

}  // namespace lact::tasks::lm
