#include "lact/bench/lm_problem.h"

#include <ATen/ATen.h>

#include "lact/bench/session.h"
#include "lact/models/lm/loss.h"
#include "lact/models/lm/presets.h"
#include "lact/models/lm/stream.h"

namespace lact::bench {

namespace {

std::vector<at::Tensor> gradients(models::LanguageModel& model, const at::Tensor& ids) {
  model.zero_grad();
  const int64_t tokens = ids.size(1) - 1;
  models::next_token_losses(model, model.hidden(ids.narrow(1, 0, tokens)), ids.narrow(1, 1, tokens))
      .mean()
      .backward();
  std::vector<at::Tensor> all;
  for (auto& parameter : model.parameters()) {
    if (parameter.grad().defined()) all.push_back(parameter.grad().clone());
    parameter.mutable_grad() = at::Tensor();
  }
  return all;
}

at::Tensor logits(const std::shared_ptr<models::LanguageModel>& model, const at::Tensor& ids,
                  int64_t one_by_one) {
  models::LmStream stream(model);
  const at::Tensor tokens = ids[0].contiguous();
  const int64_t* data = tokens.data_ptr<int64_t>();
  const int64_t at_once = tokens.size(0) - one_by_one;
  stream.read({data, size_t(at_once)});
  std::vector<at::Tensor> rows = {stream.next_logits()};
  for (int64_t i = 0; i < one_by_one; ++i) {
    stream.read({data + at_once + i, 1});
    rows.push_back(stream.next_logits());
  }
  return at::stack(rows);
}

}  // namespace

NamedConfig quick_lm() {
  models::LmConfig config;
  config.vocabulary_size = 256;
  config.model_dim = 64;
  config.num_layers = 2;
  config.layer = models::lm_layer(2, 2);
  config.layer.memory.initial_weights.rank = 8;
  config.feed_forward.hidden_dim = 128;
  config.chunk_size = config.window_size = 32;
  return {"quick", config};
}
NamedConfig small_lm() { return {"lm_small", models::lm_small()}; }
NamedConfig tiny_lm() { return {"lm_tiny", models::lm_tiny()}; }

std::shared_ptr<models::LanguageModel> make_model(const models::LmConfig& config) {
  at::manual_seed(17);
  return std::make_shared<models::LanguageModel>(config);
}

at::Tensor random_ids(const models::LmConfig& config, int64_t tokens) {
  at::manual_seed(18);
  return at::randint(config.vocabulary_size, {1, tokens}, at::kLong);
}

options::Json peer_sizes(const models::LmConfig& config) {
  return {{"vocabulary", config.vocabulary_size},
          {"width", config.model_dim},
          {"layers", config.num_layers},
          {"attention_heads", config.layer.attention.num_heads},
          {"memory_heads", config.layer.memory.num_heads},
          {"hidden", config.feed_forward.hidden_dim},
          {"chunk", config.chunk_size},
          {"window", config.window_size},
          {"rank", config.layer.memory.initial_weights.rank}};
}

double gradient_error(models::LanguageModel& model, const at::Tensor& ids, at::ScalarType type, bool fused) {
  std::vector<at::Tensor> expected, found;
  model.set_compute_type(at::kFloat);
  with_paths(false, [&] { expected = gradients(model, ids); });
  model.set_compute_type(type);
  with_paths(fused, [&] { found = gradients(model, ids); });
  return norm_error(found, expected);
}

double logits_error(const std::shared_ptr<models::LanguageModel>& reference,
                    const std::shared_ptr<models::LanguageModel>& model, const at::Tensor& ids,
                    int64_t one_by_one, at::ScalarType type, bool fused) {
  at::Tensor expected, found;
  reference->set_compute_type(at::kFloat);
  with_paths(false, [&] { expected = logits(reference, ids, one_by_one); });
  model->set_compute_type(type);
  with_paths(fused, [&] { found = logits(model, ids, one_by_one); });
  return largest_error({found}, {expected});
}

double lm_tolerance(at::ScalarType type) { return type == at::kBFloat16 ? 0.15 : 1e-2; }

}  // namespace lact::bench
