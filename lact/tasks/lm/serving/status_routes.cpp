#include "lact/base/version.h"
#include "lact/tasks/lm/serving/metrics.h"
#include "lact/tasks/lm/serving/routes.h"

namespace lact::tasks::lm {

namespace {

serve::HttpResponse models_list(const ServingParts& parts) {
  const auto& config = parts.lm.model->config();
  const ApiJson meta = {{"vocab_type", parts.lm.tokenizer->model_bytes().empty() ? 0 : 1},
                        {"n_vocab", config.vocabulary_size},
                        {"n_ctx_train", nullptr},  // a text may be of any length
                        {"n_embd", config.model_dim},
                        {"n_params", int64_t(cost(config).total().parameters)}};
  const ApiJson model = {{"id", parts.model_name},
                         {"object", "model"},
                         {"created", parts.started},
                         {"owned_by", "lact"},
                         {"meta", meta}};
  return json_response({{"object", "list"}, {"data", ApiJson::array({model})}});
}

/// What full attention of the same model would keep for every token: a key and a value of the model's width
/// in every layer, in float32 as the weights, or in two bytes where they are smaller.
int64_t key_value_bytes_per_token(const ServingParts& parts) {
  const auto& config = parts.lm.model->config();
  const int64_t bytes = parts.lm.weights == ops::WeightFormat::f32 ? 4 : 2;
  return 2 * config.num_layers * config.model_dim * bytes;
}

serve::HttpResponse properties(ServingParts& parts) {
  const auto& config = parts.lm.model->config();
  return json_response({{"default_generation_settings", default_generation_settings(parts.limits)},
                        {"total_slots", parts.options.slots},
                        {"model_alias", parts.model_name},
                        {"model_path", parts.lm.path},
                        {"chat_template", options::write(parts.chat)},
                        {"build_info", "lact " + std::string(version())},
                        {"mixer", config.mixer.text()},
                        {"memory",
                         {{"chunk_tokens", config.chunk_size},
                          {"window_tokens", config.window_size},
                          {"key_value_bytes_per_token", key_value_bytes_per_token(parts)},
                          {"tokenizer", parts.lm.tokenizer->description()}}}});
}

serve::HttpResponse slots_list(ServingParts& parts) {
  ApiJson list = ApiJson::array();
  const EngineStatus status = parts.engine.status();
  for (size_t i = 0; i < status.slots.size(); ++i) {
    const SlotStatus& slot = status.slots[i];
    list.push_back({{"id", i},
                    {"id_task", slot.busy ? ApiJson(slot.ticket) : ApiJson(-1)},
                    {"is_processing", slot.busy},
                    {"n_prompt_tokens", slot.prompt_tokens},
                    {"n_prompt_tokens_processed", slot.prompt_read},
                    {"n_prompt_tokens_cache", slot.cached_tokens},
                    {"next_token", {{"n_decoded", slot.written}}},
                    {"position", slot.busy ? slot.position : slot.kept_tokens},
                    {"state_bytes", slot.kept_bytes}});
  }
  return json_response(list);
}

}  // namespace

std::vector<Route> status_routes(ServingParts& parts) {
  const auto get = [](const char* path, std::function<serve::HttpResponse()> answer) {
    return at_once("GET", path,
                   [answer = std::move(answer)](const auto&, const PathParts&) { return answer(); });
  };
  return {get("/v1/models", [&parts] { return models_list(parts); }),
          get("/models", [&parts] { return models_list(parts); }),
          get("/props", [&parts] { return properties(parts); }),
          get("/slots", [&parts] { return slots_list(parts); }),
          get("/metrics", [&parts] { return metrics_response(parts); })};
}

}  // namespace lact::tasks::lm
