#include "lact/models/common/recurrent_cost.h"
#include "lact/models/plan/tasks.h"

namespace lact::models::plan {

void add_hybrid(BlockBuilder& builder, int64_t width, MixerKind kind, const HybridLayerConfig& layer) {
  builder.projections("projections", layer.projection);
  if (kind == MixerKind::full) return builder.full_attention(layer.attention);
  builder.window_attention(layer.attention);
  const bool rescaled = layer.rescaled != Rescaled::none;
  switch (kind) {
    case MixerKind::lact:
      return builder.memory(layer.memory, true, rescaled);
    case MixerKind::ttt:
      return builder.memory(layer.ttt, true, rescaled);
    case MixerKind::gla:
      return builder.recurrence(recurrent_cost(width, layer.gla));
    case MixerKind::deltanet:
      return builder.recurrence(recurrent_cost(width, layer.deltanet));
    case MixerKind::mamba2:
      return builder.recurrence(recurrent_cost(width, layer.mamba2));
    default:
      return;
  }
}

std::vector<Heads> hybrid_heads(const MixerPattern& mixer, const HybridLayerConfig& layer) {
  std::vector<Heads> heads = {{"attention heads", layer.attention.num_heads}};
  if (mixer.has(MixerKind::lact)) heads.push_back({"memory heads", layer.memory.num_heads});
  if (mixer.has(MixerKind::ttt)) heads.push_back({"memory heads", layer.ttt.num_heads});
  if (mixer.has(MixerKind::gla)) heads.push_back({"GLA heads", layer.gla.num_heads});
  if (mixer.has(MixerKind::deltanet)) heads.push_back({"DeltaNet heads", layer.deltanet.num_heads});
  if (mixer.has(MixerKind::mamba2)) heads.push_back({"Mamba-2 heads", layer.mamba2.num_heads});
  return heads;
}

}  // namespace lact::models::plan
