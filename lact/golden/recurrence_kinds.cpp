// Golden cases of the recurrences (GLA, DeltaNet), of the paper's Mamba-2 and of the full Mamba-2 block.
#include <ATen/ATen.h>

#include <cmath>

#include "lact/golden/kinds.h"
#include "lact/mixers/recurrent/mamba2_mixer.h"
#include "lact/models/common/mamba2_names.h"
#include "lact/ops/norms/norms.h"
#include "lact/ops/recurrences/delta_rule.h"
#include "lact/ops/recurrences/gla.h"

namespace lact::golden {

namespace {

using models::ForeignNames;

struct RecurrenceSizes {
  int64_t B = 0, T = 0, H = 0, K = 0, V = 0;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("B", B, "");
    field("T", T, "");
    field("H", H, "");
    field("K", K, "");
    field("V", V, "");
  }
  double scale() const { return 1 / std::sqrt(double(K)); }
};

RecurrenceSizes read_sizes(const Run& run) {
  RecurrenceSizes sizes;
  options::read(run.options(), sizes, "options");
  LACT_CHECK(sizes.B > 0 && sizes.T > 0 && sizes.H > 0 && sizes.K > 0 && sizes.V > 0,
             "options has sizes B {}, T {}, H {}, K {}, V {}, expected at least 1 each", sizes.B, sizes.T,
             sizes.H, sizes.K, sizes.V);
  return sizes;
}

at::Tensor initial_state(Run& run, const RecurrenceSizes& sizes) {
  if (run.has("initial_state")) return run.input("initial_state");
  return at::zeros({sizes.B, sizes.H, sizes.K, sizes.V}, run.precision());
}

enum class Mamba2Mode { unidirectional, static_target, bidirectional_static_target, video_revert_noisy };
constexpr std::array<std::pair<Mamba2Mode, std::string_view>, 4> enum_names(Mamba2Mode) {
  return {{{Mamba2Mode::unidirectional, "unidirectional"},
           {Mamba2Mode::static_target, "static_target"},
           {Mamba2Mode::bidirectional_static_target, "bidirectional_static_target"},
           {Mamba2Mode::video_revert_noisy, "video_revert_noisy"}}};
}

struct Mamba2Case {
  Mamba2Mode mode = Mamba2Mode::unidirectional;
  int64_t heads = 0, head_dim = 0, model_dim = 0;
  int64_t input_tokens = 0, target_tokens = 0, chunk_tokens = 0, num_chunks = 0;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("mode", mode, "");
    field("heads", heads, "");
    field("head_dim", head_dim, "");
    field("model_dim", model_dim, "");
    field("input_tokens", input_tokens, "");
    field("target_tokens", target_tokens, "");
    field("chunk_tokens", chunk_tokens, "");
    field("num_chunks", num_chunks, "");
  }

  SequenceLayout layout(int64_t tokens) const {
    switch (mode) {
      case Mamba2Mode::unidirectional:
        return causal_layout(tokens, tokens, tokens);
      case Mamba2Mode::video_revert_noisy:
        return interleaved_layout(num_chunks, {1, 1, chunk_tokens}, 1);
      default:
        break;
    }
    SequenceLayout layout = views_layout(input_tokens, target_tokens, 1);
    layout.unordered = mode == Mamba2Mode::bidirectional_static_target;
    return layout;
  }
};

ForeignNames mamba2_names(bool both_ways) {
  ForeignNames names;
  const auto add = [&](const std::string& theirs, const std::string& ours) {
    const std::vector<std::string> rows = {"c_proj", "b_proj", "x_proj"};
    for (size_t i = 0; i < rows.size(); ++i)
      names.rows(theirs + rows[i], ours + "projection.weight", int64_t(i), 3);
    names.same(theirs + "delta_proj", ours + "step.weight");
  };
  add("", "left_to_right.");
  if (both_ways) add("rev.", "right_to_left.");
  return names;
}

enum class BlockModule { long_lrm_block, mamba2_simple };
constexpr std::array<std::pair<BlockModule, std::string_view>, 2> enum_names(BlockModule) {
  return {{{BlockModule::long_lrm_block, "long_lrm_block"}, {BlockModule::mamba2_simple, "mamba2_simple"}}};
}

enum class ScanType { single, bi };
constexpr std::array<std::pair<ScanType, std::string_view>, 2> enum_names(ScanType) {
  return {{{ScanType::single, "single"}, {ScanType::bi, "bi"}}};
}

struct Mamba2BlockCase {
  BlockModule module = BlockModule::long_lrm_block;
  ScanType scan_type = ScanType::single;
  int64_t d_model = 0, d_state = 0, d_conv = 0, expand = 0, headdim = 0, ngroups = 1;
  int64_t chunk_size = 0;  ///< of their chunked form; changes no number
  double norm_eps = 1e-5, gated_norm_eps = 1e-5;
  bool norm_before_gate = false, pre_norm_and_residual = true, if_divide_out = false;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("module", module, "");
    field("scan_type", scan_type, "");
    field("d_model", d_model, "");
    field("d_state", d_state, "");
    field("d_conv", d_conv, "");
    field("expand", expand, "");
    field("headdim", headdim, "");
    field("ngroups", ngroups, "");
    field("chunk_size", chunk_size, "");
    field("norm_eps", norm_eps, "");
    field("gated_norm_eps", gated_norm_eps, "");
    field("norm_before_gate", norm_before_gate, "");
    field("pre_norm_and_residual", pre_norm_and_residual, "");
    field("if_divide_out", if_divide_out, "");
  }

  recurrent::Mamba2BlockConfig translated() const {
    LACT_CHECK(ngroups == 1 && !norm_before_gate && !if_divide_out,
               "options ask for {} groups, norm_before_gate {} and if_divide_out {}; there is one group, the "
               "gate before the norm, and a sum of the two directions",
               ngroups, norm_before_gate, if_divide_out);
    LACT_CHECK(pre_norm_and_residual == (module == BlockModule::long_lrm_block),
               "options.pre_norm_and_residual is {}, which this module does not have", pre_norm_and_residual);
    return {d_state, headdim, expand, d_conv, gated_norm_eps, scan_type == ScanType::bi};
  }
};

void run_block(Run& run, Mixer& layer, bool both_ways) {
  const at::Tensor x = run.input("x");
  const auto state = layer.initial_state(x.size(0));
  SequenceLayout layout = views_layout(1, 0, x.size(1));
  layout.unordered = both_ways;
  const at::Tensor output = layer.advance(x, layout, *state);
  run.expect("output", output);
  const auto& scans = dynamic_cast<recurrent::Mamba2BlockState&>(*state).scans;
  for (size_t i = 0; i < scans.size(); ++i) {
    // Theirs is [B, heads, headdim, d_state].
    run.expect(fmt::format("final_state.{}", i), scans[i].memory.transpose(-2, -1));
  }
  run.expect_loss_and_gradients(output);
}

}  // namespace

void run_gla(Run& run) {
  const RecurrenceSizes sizes = read_sizes(run);
  const auto heads_first = [](const at::Tensor& x) { return x.transpose(1, 2); };
  const auto [out, state] =
      ops::gla(heads_first(run.input("q")), heads_first(run.input("k")), heads_first(run.input("v")),
               heads_first(run.input("gk")), initial_state(run, sizes), sizes.scale());
  const at::Tensor output = out.transpose(1, 2);
  run.expect("output", output);
  run.expect("final_state", state);
  run.expect_loss_and_gradients(output);
}

void run_deltanet(Run& run) {
  const RecurrenceSizes sizes = read_sizes(run);
  // Theirs divides by sqrt(|x|² + 1e-6), which is the same within 3e-7 for vectors of this length.
  const auto unit = [](const at::Tensor& x) { return ops::l2_normalize(x, 0); };
  const auto [output, state] = ops::delta_rule(unit(run.input("q")), unit(run.input("k")), run.input("v"),
                                               run.input("beta"), initial_state(run, sizes), sizes.scale());
  run.expect("output", output);
  run.expect("final_state", state);
  run.expect_loss_and_gradients(output);
}

void run_mamba2(Run& run) {
  Mamba2Case options;
  options::read(run.options(), options, "options");
  recurrent::Mamba2MixerConfig config;
  config.num_heads = options.heads;
  config.head_dim = options.head_dim;
  config.both_ways = options.mode == Mamba2Mode::bidirectional_static_target;
  recurrent::Mamba2Directions directions(options.model_dim, config);
  run.load(directions, mamba2_names(config.both_ways));

  const at::Tensor u = run.input("u");
  const auto state = directions.initial_state(u.size(0));
  nn::ActivationCheckpointing kept(false);
  const auto outputs = directions.forward(u, options.layout(u.size(1)), kept, *state);
  const auto joined = [](const at::Tensor& heads) { return heads.transpose(1, 2).flatten(2); };
  const at::Tensor output = joined(outputs.sum());
  run.expect("output", output);
  if (config.both_ways) {
    run.expect("output_forward", joined(outputs.left_to_right));
    run.expect("output_backward", joined(outputs.right_to_left));
    run.expect("final_state_rev", state->reverse);
  }
  run.expect("final_state", state->memory);
  run.expect_loss_and_gradients(output);
}

void run_mamba2_block(Run& run) {
  Mamba2BlockCase options;
  options::read(run.options(), options, "options");
  const recurrent::Mamba2BlockConfig config = options.translated();
  if (options.module == BlockModule::mamba2_simple) {
    recurrent::Mamba2Block layer(options.d_model, config);
    run.load(layer, models::mamba2_simple_names(options.d_model, config));
    run_block(run, layer, config.both_ways);
  } else {
    recurrent::ResidualMamba2Block layer(options.d_model, config, options.norm_eps);
    run.load(layer, models::long_lrm_mamba2_names(options.d_model, config));
    run_block(run, layer, config.both_ways);
  }
}

}  // namespace lact::golden
