// Golden cases of whole layers, with the authors' constructor arguments and parameter names.
#include <ATen/ATen.h>

#include "lact/golden/kinds.h"
#include "lact/models/lm/weights.h"
#include "lact/models/nvs/weights.h"
#include "lact/models/video/weights.h"

namespace lact::golden {

namespace {

using models::ForeignNames;
using options::Json;

/// Removes a whole number from options.
int64_t take(Json& options, const char* key, int64_t fallback) {
  const auto found = options.find(key);
  if (found == options.end() || found->is_null()) {
    options.erase(key);
    return fallback;
  }
  int64_t value = 0;
  options::read(*found, value, std::string("options.") + key);
  options.erase(key);
  return value;
}

/// Runs a layer made from `config`, compares output and gradients; with the published bfloat16 Newton-Schulz
/// as well where the case holds that result.
template <class Config>
void run_layer(Run& run, int64_t model_dim, Config config, const ForeignNames& names,
               const SequenceLayout& layout) {
  const at::Tensor x = run.input("x");
  // The video layer's input has one row per chunk; a sequence is `layout.tokens` long.
  const auto forward = [&](auto& layer) {
    return layer->forward(x.reshape({-1, layout.tokens, x.size(-1)}), layout).reshape(x.sizes());
  };
  if (run.has("output_bf16ns")) {
    at::NoGradGuard no_grad;
    Config published = config;
    published.memory.update.newton_schulz.iteration_type = ops::IterationType::bfloat16;
    const auto layer = models::make_layer(model_dim, published);
    run.load(*layer, names);
    run.expect("output_bf16ns", forward(layer));
  }
  const auto layer = models::make_layer(model_dim, config);
  run.load(*layer, names);
  const at::Tensor output = forward(layer);
  run.expect("output", output);
  run.expect_loss_and_gradients(output);
}

struct MinimalBidirectional {
  int64_t dim = 0, head_dim = 0;
  double inter_multi = 1, base_lr = 0.01;
  bool use_muon = false, use_o_norm = true, qk_l2_norm = true;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("dim", dim, "");
    field("head_dim", head_dim, "");
    field("inter_multi", inter_multi, "");
    field("base_lr", base_lr, "");
    field("use_muon", use_muon, "");
    field("use_o_norm", use_o_norm, "");
    field("qk_l2_norm", qk_l2_norm, "");
  }
};

struct MinimalCausal {
  int64_t dim = 0, head_dim = 0, attn_head_dim = 0, chunk_size = 0, window_size = 0;
  double inter_multi = 1, base_lr = 0.01;
  bool use_momentum = false, use_muon = false, use_o_norm = true, qk_l2_norm = true;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("dim", dim, "");
    field("head_dim", head_dim, "");
    field("attn_head_dim", attn_head_dim, "");
    field("chunk_size", chunk_size, "");
    field("window_size", window_size, "");
    field("inter_multi", inter_multi, "");
    field("base_lr", base_lr, "");
    field("use_momentum", use_momentum, "");
    field("use_muon", use_muon, "");
    field("use_o_norm", use_o_norm, "");
    field("qk_l2_norm", qk_l2_norm, "");
  }
};

/// What the authors' two minimal layers have in common.
template <class Options>
ttt::LactConfig minimal_memory(const Options& options) {
  LACT_CHECK(options.head_dim > 0, "options.head_dim is {}, expected at least 1", options.head_dim);
  ttt::LactConfig memory;
  memory.num_heads = options.dim / options.head_dim;
  memory.hidden_multiple = options.inter_multi;
  memory.update.muon = options.use_muon;
  memory.update.newton_schulz.coefficients = ops::Coefficients::variable;
  if (!options.qk_l2_norm) memory.prepare_qk = {ttt::Preparation::silu};
  memory.base_rate = options.base_lr;
  memory.rate_bias = false;
  memory.output_norm = options.use_o_norm;
  return memory;
}

ForeignNames minimal_names(const std::string& core, bool output_norm) {
  ForeignNames names;
  names.linear("to_qkv", "projection.qkv", false);
  names.linear("o_proj", "projection.output", false);
  names.same("w0", core + ".initial_weights.gate");
  names.same("w1", core + ".initial_weights.down");
  names.same("w2", core + ".initial_weights.up");
  names.linear("lr_proj", core + ".rate", false);
  if (output_norm) names.same("o_norm.weight", core + ".norm.weight");
  return names;
}

/// [[begin, end, update, apply], ...]
ttt::Schedule read_operators(const Json& json) {
  LACT_CHECK(json.is_array(), "options.ttt_operators is not a list");
  ttt::Schedule schedule;
  for (const auto& row : json) {
    LACT_CHECK(row.is_array() && row.size() == 4,
               "options.ttt_operators has an entry {}, expected [begin, end, update, apply]", row.dump());
    Range range;
    bool update = false, apply = false;
    options::read(row[0], range.begin, "options.ttt_operators");
    options::read(row[1], range.end, "options.ttt_operators");
    options::read(row[2], update, "options.ttt_operators");
    options::read(row[3], apply, "options.ttt_operators");
    LACT_CHECK(update || apply, "options.ttt_operators has an entry that does nothing: {}", row.dump());
    schedule.push_back({update && apply ? ttt::Operation::update_then_apply
                                        : (update ? ttt::Operation::update : ttt::Operation::apply),
                        range});
  }
  return schedule;
}

SequenceLayout nvs_layout(Json& options, int64_t tokens) {
  SequenceLayout layout;
  layout.tokens = layout.keep_keys_from = layout.keep_writes_from = tokens;
  layout.schedule = read_operators(options.value("ttt_operators", Json()));
  options.erase("ttt_operators");
  return layout;
}

void expect_final_weights(Run& run, const ttt::Memory& memory) {
  for (const auto& [name, index] : {std::pair{"w0_final", 0}, {"w1_final", 1}, {"w2_final", 2}}) {
    if (run.has(name)) run.expect(name, memory.weights.at(index).flatten(0, 1).transpose(-2, -1));
  }
}

/// Their output holds only the tokens that were read, one range after the other.
at::Tensor only_read(const at::Tensor& output, const ttt::Schedule& schedule) {
  std::vector<at::Tensor> ranges;
  for (const auto& [operation, tokens] : schedule) {
    if (ttt::applies(operation)) ranges.push_back(output.slice(1, tokens.begin, tokens.end));
  }
  return at::cat(ranges, 1);
}

}  // namespace

void run_minimal_bidirectional(Run& run) {
  Json json = run.options();
  ttt::UpdateRule published;
  published.newton_schulz.coefficients = ops::Coefficients::variable;
  take_newton_schulz(json, published);
  MinimalBidirectional options;
  options::read(json, options, "options");
  models::LactLayerConfig config = {{}, minimal_memory(options)};
  config.memory.update.newton_schulz = published.newton_schulz;
  const int64_t tokens = run.input("x").size(1);
  SequenceLayout layout;
  layout.tokens = layout.keep_keys_from = layout.keep_writes_from = tokens;
  layout.schedule = ttt::full_schedule(tokens);
  run_layer(run, options.dim, config, minimal_names("core", options.use_o_norm), layout);
}

void run_minimal_causal(Run& run) {
  Json json = run.options();
  ttt::UpdateRule published;
  published.newton_schulz.coefficients = ops::Coefficients::variable;
  take_newton_schulz(json, published);
  MinimalCausal options;
  options::read(json, options, "options");
  LACT_CHECK(options.attn_head_dim > 0, "options.attn_head_dim is {}, expected at least 1",
             options.attn_head_dim);

  models::HybridLayerConfig config;
  config.memory = minimal_memory(options);
  config.memory.update.newton_schulz = published.newton_schulz;
  config.memory.update.momentum = options.use_momentum;
  config.memory.output_scale = ttt::OutputScale::per_head;
  config.attention.num_heads = options.dim / options.attn_head_dim;
  config.rescaled = Rescaled::attention;

  ForeignNames names = minimal_names("memory", options.use_o_norm);
  names.transposed("qk_scale", "qk_scale");
  names.transposed("qk_offset", "qk_shift");
  names.linear("ttt_scale_proj", "memory.scale", true);
  if (options.use_momentum) names.linear("momentum_proj.0", "memory.momentum", true);
  run_layer(run, options.dim, config, names,
            causal_layout(run.input("x").size(1), options.chunk_size, options.window_size));
}

void run_lm_layer(Run& run) {
  Json json = run.options();
  ttt::UpdateRule published;
  published.newton_schulz.coefficients = ops::Coefficients::variable;
  take_newton_schulz(json, published);
  models::AuthorsLmLayer theirs;
  options::read(json, theirs, "options");
  models::HybridLayerConfig config = translate(theirs);
  config.memory.update.newton_schulz = published.newton_schulz;
  run_layer(run, theirs.hidden_size, config, foreign_names(theirs),
            causal_layout(run.input("x").size(1), theirs.lact_chunk_size, theirs.window_size));
}

void run_video_layer(Run& run) {
  Json json = run.options();
  ttt::UpdateRule published;
  published.newton_schulz.steps = json.value("num_moun_iters", int64_t(5));
  take_newton_schulz(json, published);

  std::vector<int64_t> grid;
  options::read(json.value("latent_grid", Json()), grid, "options.latent_grid");
  LACT_CHECK(grid.size() == 3, "options.latent_grid has {} numbers, expected frames, rows and columns",
             grid.size());
  json.erase("latent_grid");
  const ChunkGrid chunk = {grid[0], grid[1], grid[2]};
  const int64_t chunks = take(json, "num_chunks", 0);
  const int64_t update_every = take(json, "update_every", 0);
  const int64_t visible_clean = take(json, "kv_cache_size", -1);
  LACT_CHECK(update_every % chunk.tokens() == 0 && update_every >= 2 * chunk.tokens(),
             "options.update_every is {}, expected a multiple of the chunk's {} tokens, at least two of them",
             update_every, chunk.tokens());
  const int64_t repeats = update_every / chunk.tokens() - 1;
  // Sizes that follow from the others.
  for (const char* derived : {"batch_size", "n_latent_f", "ar_window_f", "local_window_size"})
    json.erase(derived);

  models::AuthorsVideoLayer theirs;
  options::read(json, theirs, "options");
  models::HybridLayerConfig config = translate(theirs);
  config.memory.update.newton_schulz = published.newton_schulz;
  run_layer(run, theirs.dim, config, foreign_names(theirs),
            interleaved_layout(chunks, chunk, repeats, visible_clean));
}

void run_nvs_layer(Run& run) {
  Json json = run.options();
  const at::Tensor x = run.input("x");
  const SequenceLayout layout = nvs_layout(json, x.size(1));
  const int64_t dim = take(json, "dim", 0);
  bool state_given = false;
  if (json.contains("state_given")) options::read(json["state_given"], state_given, "options.state_given");
  json.erase("state_given");
  models::AuthorsNvsLact theirs;
  options::read(json, theirs, "options");

  const auto compute = [&](ops::IterationType type) {
    models::LactLayerConfig config = translate(theirs, dim);
    config.memory.update.newton_schulz.iteration_type = type;
    const auto layer = models::make_layer(dim, config);
    run.load(*layer, foreign_names(theirs));
    auto state = layer->initial_state(x.size(0));
    auto& memory = dynamic_cast<ttt::LactState&>(*state).memory;
    if (state_given) {
      ttt::Matrices given;
      for (const char* name : {"state_w0", "state_w1", "state_w2"}) {
        given.push_back(run.input(name).transpose(-2, -1).unflatten(0, {x.size(0), -1}));
      }
      memory = ttt::start_memory(config.memory.update, given);
    }
    const at::Tensor output = only_read(layer->advance(x, layout, *state), layout.schedule);
    if (type == ops::IterationType::bfloat16) {
      run.expect("output_bf16ns", output);
    } else {
      run.expect("output", output);
      expect_final_weights(run, memory);
      run.expect_loss_and_gradients(output);
    }
  };
  if (run.has("output_bf16ns")) {
    at::NoGradGuard no_grad;
    compute(ops::IterationType::bfloat16);
  }
  compute(ops::IterationType::input);
}

void run_nvs_block(Run& run) {
  Json json = run.options();
  const at::Tensor x = run.input("x");
  const int64_t dim = take(json, "dim", 0), views = take(json, "views", 0),
                tokens = take(json, "tokens_per_image", 0);
  const int64_t inputs = take(json, "input_views", 0);
  SequenceLayout layout = views_layout(inputs, views - inputs, tokens);
  if (json.contains("ttt_operators")) layout.schedule = read_operators(json["ttt_operators"]);

  const auto theirs =
      models::read_authors_nvs_block(json.value("block_config", Json()), "options.block_config");
  const auto block = make_block(theirs, dim);
  run.load(*block, foreign_names(theirs));
  const auto state = block->initial_state(x.size(0));
  const at::Tensor output = block->advance(x, layout, *state);
  run.expect("output", output);
  expect_final_weights(run, dynamic_cast<ttt::LactState&>(*state->mixers.at(1)).memory);
  run.expect_loss_and_gradients(output);
}

}  // namespace lact::golden
