#include "lact/base/error.h"
#include "lact/models/common/recurrent_cost.h"
#include "lact/models/plan/tasks.h"

namespace lact::models::plan {

Workload views_workload(const NvsConfig& config, const Sizes& sizes) {
  LACT_CHECK(!config.has_gaussians(), "[plan] the head is gaussians, but plans are of image heads");
  ViewSet views;
  views.inputs = sizes.views.value_or(views.inputs);
  if (sizes.image_size) views.image_size = {*sizes.image_size, *sizes.image_size};
  const ModelCost cost = models::cost(config, views);
  const double type = type_bytes(sizes), width = double(config.model_dim);
  const double per_view = cost.around.attended, inputs = double(views.inputs);
  const bool trains = sizes.pass == Pass::train, renders = sizes.pass == Pass::render;
  const double targets = double(sizes.targets.value_or(trains ? 8 : 1));
  LACT_CHECK(sizes.pass != Pass::prefill || !sizes.targets,
             "[plan] --targets means nothing for --pass prefill");
  const double count = (renders ? 0 : inputs) + (sizes.pass == Pass::prefill ? 0 : targets);
  const auto registers = config.mixer == MixerKind::perceiver ? double(config.perceiver.registers) : 0.0;
  Workload all;
  all.sequence = "scene";
  all.text =
      renders
          ? fmt::format("{:.0f} target views of {} pixels a side", targets, views.image_size.text())
          : fmt::format("scenes of {:.0f} input{} views of {} pixels a side", inputs,
                        trains ? fmt::format(" and {:.0f} target", targets) : "", views.image_size.text());
  all.tokens = count * per_view;
  all.shortest_chunk = renders ? targets * per_view : inputs * per_view;
  all.heads = {{"attention heads", config.attention.attention.num_heads}};
  if (config.mixer.has(MixerKind::lact)) all.heads.push_back({"memory heads", config.lact.memory.num_heads});
  if (config.mixer.has(MixerKind::gla)) all.heads.push_back({"GLA heads", config.gla.num_heads});
  if (config.mixer.has(MixerKind::deltanet))
    all.heads.push_back({"DeltaNet heads", config.deltanet.num_heads});
  if (config.mixer.has(MixerKind::mamba2)) all.heads.push_back({"Mamba-2 heads", config.mamba2.num_heads});

  Tokens tokens;
  tokens.all = all.tokens + (renders ? 0 : registers);  // a scene that was read holds them
  tokens.written = renders ? 0 : inputs * per_view;
  tokens.updates = renders ? 0 : 1;
  tokens.window_pairs = all.tokens * per_view;
  tokens.all_pairs = tokens.all * (registers > 0 ? registers : inputs * per_view);
  for (const auto& block : cost.blocks) {
    BlockBuilder builder(config.model_dim, tokens, type, type);
    builder.branch();
    builder.projections("projections", config.attention.projection);
    builder.window_attention(config.attention.attention);
    builder.branch();
    if (block.mixer == MixerKind::lact) {
      builder.projections("memory projections", config.lact.projection);
      builder.memory(config.lact.memory, false, false);
    } else if (block.mixer == MixerKind::mamba2) {
      builder.recurrence(recurrent_cost(config.model_dim, config.mamba2));
    } else {
      builder.projections("memory projections", config.attention.projection);
      if (block.mixer == MixerKind::gla) builder.recurrence(recurrent_cost(config.model_dim, config.gla));
      if (block.mixer == MixerKind::deltanet)
        builder.recurrence(recurrent_cost(config.model_dim, config.deltanet));
      if (block.mixer == MixerKind::full || block.mixer == MixerKind::perceiver)
        builder.full_attention(config.attention.attention);
    }
    builder.branch();
    builder.feed_forward(config.feed_forward);
    all.blocks.push_back(builder.done(block.count, double(block.one().parameters)));
  }
  const double in = double(config.input_channels()), out = double(config.output_channels());
  const double decoded = sizes.pass == Pass::prefill ? 0 : targets * per_view;
  all.others = {{"embedding", Kind::products, 2 * in * width * all.tokens,
                 all.tokens * (3 * in + 3 * width) * kFloatBytes, 0, 1},
                {"decoder", Kind::products, 2 * out * width * decoded, decoded * 4 * out * kFloatBytes}};
  // Patches, the layer's result and its norm in float32; pixels and their gradients.
  all.other_kept =
      all.tokens * kFloatBytes * (2 * in + 2 * width) + decoded * (6 * out * kFloatBytes + 2 * width * type);
  all.parameters = double(cost.total().parameters);
  return all;
}

}  // namespace lact::models::plan
