// Language models that run in milliseconds.
#pragma once

#include <ATen/ATen.h>

#include <fmt/format.h>

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lact/base/options.h"
#include "lact/models/lm/model.h"

namespace lact::testing {

inline models::LmConfig tiny_lm(int64_t chunk = 8, int64_t window = 5) {
  models::LmConfig config;
  config.vocabulary_size = 256;
  config.model_dim = 16;
  config.num_layers = 2;
  config.layer = models::lm_layer(2, 2);
  config.layer.memory.initial_weights = {.rank = 3, .gain = 0.5};
  config.layer.memory.base_rate = 0.1;
  config.feed_forward.hidden_dim = 24;
  config.chunk_size = chunk;
  config.window_size = window;
  config.init_std = 0.2;
  return config;
}

/// Every mixer of a language model, and a pattern of them.
inline std::vector<models::MixerPattern> lm_mixers() {
  using models::MixerKind;
  return {MixerKind::lact,     MixerKind::full,
          MixerKind::window,   MixerKind::gla,
          MixerKind::deltanet, MixerKind::mamba2,
          MixerKind::ttt,      models::MixerPattern::parse("1 lact : 1 full")};
}

/// Every update rule and the other mixers.
inline std::vector<std::pair<std::string, models::LmConfig>> tiny_lms() {
  std::vector<std::pair<std::string, models::LmConfig>> all;
  for (const bool momentum : {false, true}) {
    for (const bool muon : {false, true}) {
      for (const auto placement :
           {ttt::NormPlacement::post, ttt::NormPlacement::pre, ttt::NormPlacement::none}) {
        auto config = tiny_lm();
        config.layer.memory.update.momentum = momentum;
        config.layer.memory.update.muon = muon;
        config.layer.memory.update.norm_placement = placement;
        all.emplace_back(fmt::format("{}{} {}", momentum ? "momentum " : "", muon ? "muon" : "gd",
                                     options::word_of(placement)),
                         config);
      }
    }
  }
  for (const auto& mixer : lm_mixers()) {
    if (mixer == models::MixerKind::lact) continue;
    auto config = tiny_lm();
    config.mixer = mixer;
    all.emplace_back(mixer.text(), config);
    config.layer.projection.conv_width = 3;
    all.emplace_back(mixer.text() + " and convolution", config);
  }
  auto convolved = tiny_lm();
  convolved.layer.projection.conv_width = 3;
  all.emplace_back("convolution", convolved);
  auto linear = tiny_lm(8, 16);
  linear.layer.memory.network = "linear";
  all.emplace_back("linear memory, window longer than a chunk", linear);
  return all;
}

inline std::shared_ptr<models::LanguageModel> make_lm(const models::LmConfig& config, uint64_t seed = 3) {
  at::manual_seed(seed);
  return std::make_shared<models::LanguageModel>(config);
}

/// A model in float64, for comparisons that rounding must not disturb.
inline std::shared_ptr<models::LanguageModel> make_precise_lm(const models::LmConfig& config) {
  auto model = make_lm(config);
  model->to(at::kDouble);
  model->set_compute_type(at::kDouble);
  return model;
}

inline at::Tensor random_ids(int64_t batch, int64_t tokens, int64_t vocabulary = 256) {
  return at::randint(vocabulary, {batch, tokens}, at::kLong);
}

/// Some ids of a text, as a stream reads them.
inline std::span<const int64_t> row(const at::Tensor& ids, int64_t begin, int64_t count) {
  return {ids.data_ptr<int64_t>() + begin, size_t(count)};
}

}  // namespace lact::testing
