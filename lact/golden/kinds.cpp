#include "lact/golden/kinds.h"

namespace lact::golden {

namespace {

const std::map<std::string, KindFunction>& table() {
  static const std::map<std::string, KindFunction> rows = {
      {"newton_schulz", run_newton_schulz},
      {"ttt", run_ttt},
      {"layer.minimal_bidirectional", run_minimal_bidirectional},
      {"layer.minimal_causal", run_minimal_causal},
      {"layer.llm", run_lm_layer},
      {"layer.nvs", run_nvs_layer},
      {"block.nvs", run_nvs_block},
      {"layer.video", run_video_layer},
      {"attention.sliding", run_sliding_attention},
      {"attention.blocks", run_block_attention},
      {"attention.video_window", run_video_window_attention},
      {"attention.full_block_causal", run_full_block_causal_attention},
      {"gla", run_gla},
      {"deltanet", run_deltanet},
      {"mamba2", run_mamba2},
      {"mamba2.block", run_mamba2_block},
      {"model.lm", run_lm_model},
      {"model.nvs", run_nvs_model},
      {"model.video_train", run_video_training},
      {"model.video_inference", run_video_inference},
      {"metrics.psnr_ssim", run_psnr_ssim},
      {"metrics.per_position_loss", run_per_position_loss},
      {"loss.l1_dssim", run_l1_dssim},
      {"image_preprocess", run_image_preprocess},
      {"cameras", run_cameras},
      {"flow.scheduler", run_flow_scheduler},
      {"flow.shift_and_weight", run_flow_shift_and_weight},
      {"flow.ar_sequence", run_flow_ar_sequence},
      {"unipc", run_unipc},
      {"vae.encode", run_vae_encode},
      {"vae.decode", run_vae_decode},
      {"umt5", run_umt5},
      {"gaussian_head", run_gaussian_head},
      {"splat.ply", run_splat_ply},
      {"splat.project", run_splat_project},
      {"splat.sh", run_splat_harmonics},
      {"splat.render", run_splat_render},
  };
  return rows;
}

}  // namespace

KindFunction find_kind(const std::string& kind) {
  const auto row = table().find(kind);
  return row == table().end() ? nullptr : row->second;
}

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const auto& [name, function] : table()) names.push_back(name);
  return names;
}

}  // namespace lact::golden
