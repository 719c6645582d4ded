// How a language model is kept while it writes: what the rows of `lact bench decode` share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lact/bench/lm_problem.h"
#include "lact/bench/session.h"
#include "lact/ops/attention/kept_tokens.h"
#include "lact/ops/linear/compressed_linear.h"

namespace lact::bench {

/// How the weights are kept.
struct DecodeFormat {
  std::string name;
  ops::WeightFormat weights;
  double bytes_per_weight;
  at::ScalarType activations;
  ops::CacheFormat cache = ops::CacheFormat::automatic;

  /// Of the window's keys and values; int8 has a float32 scale for every row of a head.
  double bytes_per_kept(const models::LmConfig& config) const;
};

std::shared_ptr<models::LanguageModel> make_model_in(const DecodeFormat& format,
                                                     const models::LmConfig& config);

/// Several texts at once, at these depths: against one text, and against what the bytes allow that every text
/// reads for itself.
void measure_together(Session& session, const NamedConfig& named, const DecodeFormat& format,
                      const std::shared_ptr<models::LanguageModel>& model,
                      const std::vector<int64_t>& depths);

}  // namespace lact::bench
