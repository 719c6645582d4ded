// What to compute for each kind of case. A new kind is a function and a row in kinds.cpp.
#pragma once

#include "lact/golden/run.h"
#include "lact/ttt/update_rule.h"

namespace lact::golden {

using KindFunction = void (*)(Run&);

/// The function for a kind, or nullptr if it is unknown.
KindFunction find_kind(const std::string& kind);
std::vector<std::string> kind_names();

void run_newton_schulz(Run& run);
void run_ttt(Run& run);
void run_minimal_bidirectional(Run& run);
void run_minimal_causal(Run& run);
void run_lm_layer(Run& run);
void run_nvs_layer(Run& run);
void run_nvs_block(Run& run);
void run_video_layer(Run& run);
void run_sliding_attention(Run& run);
void run_block_attention(Run& run);
void run_video_window_attention(Run& run);
void run_full_block_causal_attention(Run& run);
void run_gla(Run& run);
void run_deltanet(Run& run);
void run_mamba2(Run& run);
void run_mamba2_block(Run& run);
void run_lm_model(Run& run);
void run_nvs_model(Run& run);
void run_video_training(Run& run);
void run_video_inference(Run& run);
void run_psnr_ssim(Run& run);
void run_per_position_loss(Run& run);
void run_l1_dssim(Run& run);
void run_image_preprocess(Run& run);
void run_cameras(Run& run);
void run_flow_scheduler(Run& run);
void run_flow_shift_and_weight(Run& run);
void run_flow_ar_sequence(Run& run);
void run_unipc(Run& run);
void run_vae_encode(Run& run);
void run_vae_decode(Run& run);
void run_umt5(Run& run);
void run_gaussian_head(Run& run);
void run_splat_ply(Run& run);
void run_splat_project(Run& run);
void run_splat_harmonics(Run& run);
void run_splat_render(Run& run);

/// The "newton_schulz" entry of options: {"steps", "coefficients", "dtype"}.
ops::NewtonSchulzOptions read_newton_schulz(const options::Json& json, const std::string& path);

/// Removes "newton_schulz" from options and, unless it is null, applies it to the rule.
void take_newton_schulz(options::Json& options, ttt::UpdateRule& rule);

}  // namespace lact::golden
