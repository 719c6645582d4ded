// The three kinds of sequences, each as what it asks of its model.
#pragma once

#include "lact/models/plan/layers.h"
#include "lact/models/plan/workload.h"

namespace lact::models::plan {

Workload text_workload(const LmConfig& config, const Sizes& sizes);
Workload views_workload(const NvsConfig& config, const Sizes& sizes);
Workload video_workload(const VideoConfig& config, const Sizes& sizes);

/// Bytes of a number of the compute type.
inline double type_bytes(const Sizes& sizes) { return sizes.bf16 ? 2 : kFloatBytes; }

/// Window attention with what the word stands for beside it, or full attention (text and video).
void add_hybrid(BlockBuilder& builder, int64_t width, MixerKind kind, const HybridLayerConfig& layer);

/// Its heads.
std::vector<Heads> hybrid_heads(const MixerPattern& mixer, const HybridLayerConfig& layer);

}  // namespace lact::models::plan
