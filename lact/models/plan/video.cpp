#include <algorithm>

#include "lact/base/error.h"
#include "lact/models/plan/tasks.h"

namespace lact::models::plan {

Workload video_workload(const VideoConfig& config, const Sizes& sizes) {
  const int64_t chunks = sizes.chunks.value_or(ClipLength().chunks),
                repeats = sizes.noise_repeats.value_or(1);
  const ModelCost cost = models::cost(config, {chunks});
  const double type = type_bytes(sizes), width = double(config.model_dim), chunk = cost.around.chunk;
  const double clean_seen = config.visible_clean < 0 ? chunk : std::min(chunk, double(config.visible_clean));
  const bool trains = sizes.pass == Pass::train;
  LACT_CHECK(trains || !sizes.noise_repeats, "[plan] --noise-repeats is for --pass train");
  // Of the last chunk behind all others, or of the whole clip.
  const double noisy = trains ? double(chunks * repeats) : sizes.pass == Pass::render ? 1 : 0;
  const double clean = trains ? double(chunks - 1) : sizes.pass == Pass::prefill ? 1 : 0;
  const double behind = chunks > 1 ? 1 : 0;
  Tokens tokens;
  tokens.all = (noisy + clean) * chunk;
  tokens.pieces = noisy + clean;
  tokens.written = clean * chunk;
  tokens.updates = clean;
  const double noisy_keys = trains ? noisy * chunk + double((chunks - 1) * repeats) * clean_seen
                                   : noisy * (chunk + behind * clean_seen);
  tokens.window_keys = noisy_keys + clean * chunk;
  tokens.window_pairs = chunk * tokens.window_keys;
  // Noisy chunk i sees itself and i clean ones, clean chunk i itself and i clean ones.
  const double before = double(chunks) * double(chunks - 1) / 2;
  tokens.all_pairs = chunk * chunk *
                     (trains ? double(repeats) * (double(chunks) + before) + before
                             : noisy * double(chunks) + clean * double(chunks));
  Workload all;
  all.sequence = "clip";
  all.text = trains ? fmt::format("clips of {} chunks of {:.0f} tokens, {} noisy {} of each", chunks, chunk,
                                  repeats, repeats == 1 ? "copy" : "copies")
                    : fmt::format("a chunk of {:.0f} tokens behind {} others", chunk, chunks - 1);
  all.tokens = tokens.all;
  all.shortest_chunk = chunk;
  all.heads = hybrid_heads(config.mixer, config.layer);
  for (const auto& block : cost.blocks) {
    BlockBuilder builder(config.model_dim, tokens, type, kFloatBytes);
    builder.branch(true);
    add_hybrid(builder, config.model_dim, block.mixer, config.layer);
    builder.branch();
    builder.cross_attention(config.cross_attention, config.text_length);
    builder.branch(true);
    builder.feed_forward(config.feed_forward);
    all.blocks.push_back(builder.done(block.count, double(block.one().parameters)));
  }
  const double in = double(config.in_channels * config.patch_size()),
               out = double(config.out_channels * config.patch_size());
  all.others = {{"embedding", Kind::products, 2 * in * width * tokens.all,
                 tokens.all * (2 * in + width) * kFloatBytes, 0, 1},
                {"decoder", Kind::products, 2 * out * width * tokens.all,
                 tokens.all * (4 * width + 3 * out) * kFloatBytes}};
  all.other_kept = tokens.all * kFloatBytes * (2 * in + 3 * width + 4 * out);
  all.parameters = double(cost.total().parameters);
  return all;
}

}  // namespace lact::models::plan
