#include <algorithm>
#include <cmath>

#include "lact/base/error.h"
#include "lact/models/plan/tasks.h"

namespace lact::models::plan {

namespace {

/// Pairs of query and key in a causal window.
double causal_pairs(double tokens, double window) {
  const double width = std::min(tokens, window);
  return width * tokens - width * (width - 1) / 2;
}

}  // namespace

Workload text_workload(const LmConfig& config, const Sizes& sizes) {
  LACT_CHECK(sizes.pass != Pass::render,
             "[plan] a language model has nothing to render: --pass is train or prefill");
  const double length = double(sizes.length.value_or(TextLength().tokens));
  const double type = type_bytes(sizes), width = double(config.model_dim);
  const auto window = double(config.window_size), vocabulary = double(config.vocabulary_size);
  const ModelCost cost = models::cost(config, {int64_t(length)});
  Workload all;
  all.sequence = "text";
  all.text = fmt::format("texts of {:.0f} tokens", length);
  all.tokens = length;
  all.shortest_chunk = std::min(length, double(config.chunk_size));
  all.heads = hybrid_heads(config.mixer, config.layer);
  for (const auto& block : cost.blocks) {
    // The original TTT has chunks of its own, but the layout's are what the schedule writes.
    Tokens tokens;
    tokens.all = length;
    tokens.pieces = std::ceil(length / double(config.chunk_size));
    tokens.updates =
        sizes.pass == Pass::train ? tokens.pieces - 1 : std::floor(length / double(config.chunk_size));
    tokens.written = tokens.updates * double(config.chunk_size);
    tokens.window_pairs = causal_pairs(length, window);
    tokens.all_pairs = causal_pairs(length, length);
    tokens.window_keys = tokens.pieces * std::min(window, length);
    BlockBuilder builder(config.model_dim, tokens, type, type);
    builder.branch();
    add_hybrid(builder, config.model_dim, block.mixer, config.layer);
    builder.branch();
    builder.feed_forward(config.feed_forward);
    all.blocks.push_back(builder.done(block.count, double(block.one().parameters)));
  }
  const bool trains = sizes.pass == Pass::train;
  const double decoded = trains ? length : 1;
  all.others = {{"embedding", Kind::products, 0, length * width * (kFloatBytes + type),
                 trains ? kFloatBytes * vocabulary * width : 0, 1},
                {"head and loss", Kind::products, 2 * width * vocabulary * decoded,
                 decoded * (2 * width + 3 * vocabulary) * type, kFloatBytes * vocabulary * width}};
  // Last norm's input and output, their gradient; logits a stretch at a time, beside the matrix in the
  // compute type and its gradient.
  constexpr double kMostLogits = 1 << 24;
  all.other_kept = 3 * length * width * type;
  all.other_transient = std::min(decoded * vocabulary, kMostLogits) * type;
  if (trains) all.other_transient += vocabulary * width * (kFloatBytes + (sizes.bf16 ? type : 0));
  all.parameters = double(cost.total().parameters);
  return all;
}

}  // namespace lact::models::plan
