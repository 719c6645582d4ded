// The language models that are measured, and whether their fast paths are right.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lact/base/options.h"
#include "lact/models/lm/model.h"

namespace lact::bench {

struct NamedConfig {
  std::string name;
  models::LmConfig config;
};

/// A model of a few thousand parameters, to see that everything runs.
NamedConfig quick_lm();
NamedConfig small_lm();
NamedConfig tiny_lm();

std::shared_ptr<models::LanguageModel> make_model(const models::LmConfig& config);
at::Tensor random_ids(const models::LmConfig& config, int64_t tokens);  ///< [1, tokens]

/// The sizes that bench/peers/lm.py asks for.
options::Json peer_sizes(const models::LmConfig& config);

/// |difference| / |reference| of all gradients of the loss on ids [1, T + 1], of the fused path or of the
/// reference form in that type; the reference runs in float32.
double gradient_error(models::LanguageModel& model, const at::Tensor& ids, at::ScalarType type,
                      bool fused = true);

/// The largest relative difference of the logits after reading ids [1, T], or of those of the next tokens,
/// read one by one. The reference, which may be the model itself, runs in float32; the model with the fused
/// paths or in the reference form.
double logits_error(const std::shared_ptr<models::LanguageModel>& reference,
                    const std::shared_ptr<models::LanguageModel>& model, const at::Tensor& ids,
                    int64_t one_by_one, at::ScalarType type, bool fused = true);

double lm_tolerance(at::ScalarType type);

}  // namespace lact::bench
