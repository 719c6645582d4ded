#include "lact/bench/context_problem.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "lact/bench/memory.h"
#include "lact/bench/session.h"
#include "lact/models/lm/presets.h"

namespace lact::bench {

using options::Json;

namespace {

std::shared_ptr<Mixer> seeded_layer(const ContextSizes& sizes) {
  at::manual_seed(17);
  return models::make_layer(sizes.model_dim, sizes.layer);
}

/// The tokens of this rank of what has `seed`.
at::Tensor own_numbers(const SequenceLayout& layout, int64_t tokens, int64_t width, uint64_t seed) {
  at::manual_seed(seed);
  const at::Tensor all = at::randn({1, tokens, width});
  return layout.sharding ? layout.sharding->take(all, 1).contiguous() : all;
}

double inner_product(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) * b.to(at::kDouble)).sum().item<double>();
}

}  // namespace

std::string ContextShape::text() const { return fmt::format("{} tokens, chunk {}", tokens, chunk); }

ContextSizes::ContextSizes(bool quick) {
  const models::LmConfig config = models::lm_small();
  model_dim = quick ? 64 : config.model_dim;
  window = quick ? 16 : config.window_size;
  layer = quick ? models::lm_layer(4, 2) : config.layer;
  if (quick) layer.memory.initial_weights.rank = 8;
  constexpr int64_t k = 1024;
  if (quick) {
    shapes = {{256, 64}, {256, 128}};
  } else {
    shapes = {{32 * k, 8 * k}, {256 * k, 8 * k}, {256 * k, 32 * k}};
  }
}

ContextTraffic expected_traffic(const ContextSizes& sizes, const ContextShape& shape, int64_t ranks,
                                at::ScalarType type) {
  const SequenceLayout layout = causal_layout(shape.tokens, shape.chunk, sizes.window);
  ContextTraffic traffic;
  for (const auto& step : layout.schedule) traffic.sums += ttt::updates(step.operation) ? 1 : 0;
  const auto& memory = sizes.layer.memory;
  const double head_dim = double(sizes.model_dim / memory.num_heads);
  const double numbers =
      3 * double(memory.num_heads) * head_dim * std::round(head_dim * memory.hidden_multiple);
  traffic.summed_bytes = double(traffic.sums) * numbers * double(sizeof(float));
  if (memory.update.muon) traffic.step_bytes = traffic.summed_bytes * double(ranks - 1);
  const int64_t chunks = (shape.tokens + shape.chunk - 1) / shape.chunk;
  // Every part but the first begins behind tokens of another rank: a window of them, but the token itself.
  const auto parts = double(chunks * ranks - 1);
  traffic.halo_bytes =
      parts * double(sizes.window - 1) * 2 * double(sizes.model_dim) * double(c10::elementSize(type));
  return traffic;
}

ContextProblem::ContextProblem(const ContextSizes& sizes, const parallel::World& world)
    : sizes_(sizes), world_(world), layer_(seeded_layer(sizes)), gradients_(*layer_, world.all) {}

Json ContextProblem::answer(const Json& request) {
  const ContextShape shape = {request.at("tokens").get<int64_t>(), request.at("chunk").get<int64_t>()};
  const bool backward = request.at("backward").get<bool>();
  const SequenceLayout layout = share_out(causal_layout(shape.tokens, shape.chunk, sizes_.window), world_);
  const auto type = type_of(request.at("precision").get<std::string>());
  const at::Tensor x = own_numbers(layout, shape.tokens, sizes_.model_dim, 18).to(type);
  const at::Tensor weighting = own_numbers(layout, shape.tokens, sizes_.model_dim, 19).to(type);

  const parallel::Traffic before = world_.context.traffic();
  const at::Tensor leaf = x.detach().requires_grad_(backward);
  at::Tensor out;
  double seconds = 0;
  const auto memory = extra_peak_bytes([&] {
    world_.all.barrier("beginning together");
    seconds = seconds_of([&] {
      const at::AutoGradMode mode(backward);
      out = layer_->forward(leaf, layout);
      if (!backward) return;
      gradients_.begin();
      out.backward(weighting);
      gradients_.finish();
    });
  });
  const parallel::Traffic& after = world_.context.traffic();
  Json answer = {{"seconds", seconds},
                 {"memory", memory ? Json(double(*memory)) : Json(nullptr)},
                 {"sums", after.sums - before.sums},
                 {"summed_bytes", after.summed_bytes - before.summed_bytes},
                 {"exchanged_bytes", after.exchanged_bytes - before.exchanged_bytes}};
  if (request.value("check", false)) {
    // Along random directions, which tells tensors apart as their distance does; and their squares.
    const double own = world_.all.rank() == 0 ? 1 : 0;  // gradients of parameters are the same everywhere
    std::vector<double> along = {inner_product(out, weighting)}, squares = {inner_product(out, out)};
    if (backward)
      along.push_back(inner_product(leaf.grad(), weighting)),
          squares.push_back(inner_product(leaf.grad(), leaf.grad()));
    at::manual_seed(20);
    for (const auto& parameter : layer_->parameters()) {
      const at::Tensor direction = at::randn(parameter.sizes());
      if (!parameter.grad().defined()) continue;
      along.push_back(own * inner_product(parameter.grad(), direction));
      squares.push_back(own * inner_product(parameter.grad(), parameter.grad()));
    }
    answer["along"] = along, answer["squares"] = squares;
  }
  for (auto& parameter : layer_->parameters()) parameter.mutable_grad() = at::Tensor();
  return answer;
}

}  // namespace lact::bench
