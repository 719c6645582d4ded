// Writing one token after the other, at the beginning of a text and deep inside one. What limits it is
// reading the weights: the share is that of the memory's bandwidth.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include "lact/base/log.h"
#include "lact/bench/areas.h"
#include "lact/bench/decode.h"
#include "lact/bench/work.h"
#include "lact/models/lm/stream.h"

namespace lact::bench {

double DecodeFormat::bytes_per_kept(const models::LmConfig& config) const {
  const double head_dim = double(config.model_dim / config.layer.attention.num_heads);
  return cache == ops::CacheFormat::int8 ? 1 + 4 / head_dim : double(c10::elementSize(activations));
}

std::shared_ptr<models::LanguageModel> make_model_in(const DecodeFormat& format,
                                                     const models::LmConfig& config) {
  const auto model = make_model(config);
  if (format.weights != ops::WeightFormat::f32) model->compress_weights(format.weights);
  model->set_compute_type(format.activations);
  model->set_cache(format.cache);
  return model;
}

namespace {

std::vector<DecodeFormat> formats() {
  using ops::WeightFormat;
  // int8 has a float32 scale for every 128 weights.
  return {{"f32", WeightFormat::f32, 4, at::kFloat},
          {"bf16", WeightFormat::bf16, 2, at::kBFloat16},
          {"bf16, int8 cache", WeightFormat::bf16, 2, at::kBFloat16, ops::CacheFormat::int8},
          {"int8", WeightFormat::int8, 1 + 4.0 / 128, at::kBFloat16}};
}

constexpr int64_t kCheckedOneByOne = 8;

options::Json peer_request(const models::LmConfig& config, int64_t depth, int64_t count) {
  return {{"op", "decode"}, {"sizes", peer_sizes(config)}, {"depth", depth}, {"count", count}};
}

/// Seconds per token at a depth.
std::optional<double> measure(Session& session, const NamedConfig& named, const DecodeFormat& format,
                              const std::shared_ptr<models::LanguageModel>& reference,
                              const std::shared_ptr<models::LanguageModel>& model, int64_t depth,
                              int64_t count) {
  const models::LmConfig& config = named.config;
  Trial trial;
  trial.row = {"decode", fmt::format("{} depth {}", named.name, depth), format.name + " weights", "decode",
               format.name};
  // A window and a chunk are behind the checked tokens; deeper it is the same, and the reference slow.
  const int64_t checked = std::min(depth, config.chunk_size + kCheckedOneByOne) + 1;
  const at::Tensor check_ids = random_ids(config, checked + kCheckedOneByOne);
  trial.error = [&] {
    return logits_error(reference, model, check_ids, kCheckedOneByOne, format.activations);
  };
  trial.tolerance = lm_tolerance(format.activations);

  const at::Tensor ids = random_ids(config, std::max<int64_t>(depth, count));
  if (depth >= config.chunk_size) log::info("reading {} tokens", depth);
  models::LmStream stream(model);
  stream.read({ids.data_ptr<int64_t>(), size_t(depth)});
  trial.run = [&] {
    for (int64_t i = 0; i < count; ++i) {
      stream.read({ids.data_ptr<int64_t>() + i, 1});
      stream.next_logits().argmax().item<int64_t>();
    }
  };
  trial.count = double(count);
  for (const char* precision : {"bf16", "f32"}) {
    trial.forms.push_back({precision, peer_request(config, depth, count)});
  }
  trial.work = decode_bytes(config, depth, format.bytes_per_weight, format.bytes_per_kept(config));
  trial.limit = session.machine().limits.read;
  const Result row = session.measure(trial);
  if (row.seconds) session.note(fmt::format("{:.1f} tokens/s", 1 / *row.seconds));
  return row.seconds;
}

}  // namespace

void bench_decode(Session& session) {
  const std::vector<NamedConfig> models = session.quick() ? std::vector<NamedConfig>{quick_lm()}
                                                          : std::vector<NamedConfig>{small_lm(), tiny_lm()};
  const std::vector<int64_t> depths =
      session.quick() ? std::vector<int64_t>{0, 64} : std::vector<int64_t>{0, 32768};
  const int64_t count = session.quick() ? 3 : 16;
  for (const auto& named : models) {
    const auto reference = make_model(named.config);
    for (const DecodeFormat& format : formats()) {
      if (!session.wants(named.name + " " + format.name)) continue;
      const auto model = make_model_in(format, named.config);
      std::optional<double> shallow;
      for (const int64_t depth : depths) {
        const auto seconds = measure(session, named, format, reference, model, depth, count);
        if (seconds && shallow)
          session.note(fmt::format("{:.2f} times that at depth 0", *seconds / *shallow));
        if (depth == 0) shallow = seconds;
      }
      const bool is_first = named.name == models.front().name;
      if (is_first && format.cache == ops::CacheFormat::automatic) {
        measure_together(session, named, format, model, {0, session.quick() ? 64 : 2048});
      }
    }
  }
}

}  // namespace lact::bench
