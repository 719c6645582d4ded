// Golden cases of single operations: Newton-Schulz, the whole test-time-training scan, attention windows.
#include <ATen/ATen.h>

#include "lact/golden/kinds.h"
#include "lact/mixers/layout.h"
#include "lact/ops/attention/windows.h"
#include "lact/ttt/scan.h"

namespace lact::golden {

namespace {

using options::Json;

struct NewtonSchulzCase {
  int64_t steps = 5;
  ops::Coefficients coefficients = ops::Coefficients::fixed;
  std::string dtype = "float32";

  template <class Visitor>
  void visit(Visitor&& field) {
    field("steps", steps, "");
    field("coefficients", coefficients, "");
    field("dtype", dtype, "float32: the precision of the run; bfloat16: as published");
  }

  ops::NewtonSchulzOptions translated(const std::string& path) const {
    LACT_CHECK(dtype == "float32" || dtype == "bfloat16", "{}.dtype is \"{}\", expected float32 or bfloat16",
               path, dtype);
    const auto type = dtype == "bfloat16" ? ops::IterationType::bfloat16 : ops::IterationType::input;
    return {steps, coefficients, type};
  }
};

enum class InitialNorm { attached, detached };
constexpr std::array<std::pair<InitialNorm, std::string_view>, 2> enum_names(InitialNorm) {
  return {{{InitialNorm::attached, "attached"}, {InitialNorm::detached, "detached"}}};
}

enum class WeightLayout { out_in, in_out };
constexpr std::array<std::pair<WeightLayout, std::string_view>, 2> enum_names(WeightLayout) {
  return {{{WeightLayout::out_in, "out_in"}, {WeightLayout::in_out, "in_out"}}};
}

struct TttCase {
  std::string network = "swiglu";
  bool momentum = false;
  ttt::NormPlacement norm_placement = ttt::NormPlacement::post;
  InitialNorm initial_norm = InitialNorm::attached;
  WeightLayout weight_layout = WeightLayout::out_in;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("network", network, "");
    field("momentum", momentum, "");
    field("norm_placement", norm_placement, "");
    field("initial_norm", initial_norm, "");
    field("weight_layout", weight_layout, "");
  }
};

/// [["apply_then_update", 0, 24], ...]
ttt::Schedule read_schedule(const Json& json) {
  LACT_CHECK(json.is_array(), "schedule is not a list of [operation, begin, end]");
  ttt::Schedule schedule;
  for (const auto& row : json) {
    LACT_CHECK(row.is_array() && row.size() == 3,
               "schedule has an entry {}, expected [operation, begin, end]", row.dump());
    ttt::Step step{};
    options::read(row[0], step.operation, "schedule");
    options::read(row[1], step.tokens.begin, "schedule");
    options::read(row[2], step.tokens.end, "schedule");
    schedule.push_back(step);
  }
  return schedule;
}

void run_attention(Run& run, const ops::Window& window) {
  const at::Tensor q = run.input("q");
  if (run.has("mask")) run.expect("mask", ops::window_mask(window, q.size(1)).to(at::kByte));
  const at::Tensor output = ops::window_attention(q, run.input("k"), run.input("v"), window);
  run.expect("output", output);
  run.expect_loss_and_gradients(output);
}

struct SlidingCase {
  int64_t window = 0;
  template <class Visitor>
  void visit(Visitor&& field) {
    field("window", window, "");
  }
};

struct BlocksCase {
  int64_t blocks = 0, tokens_per_block = 0;
  template <class Visitor>
  void visit(Visitor&& field) {
    field("blocks", blocks, "");
    field("tokens_per_block", tokens_per_block, "");
  }
};

struct VideoWindowCase {
  int64_t chunk_tokens = 0, repeat = 1, num_chunks = 0, kv_cache_size = -1;
  template <class Visitor>
  void visit(Visitor&& field) {
    field("chunk_tokens", chunk_tokens, "");
    field("repeat", repeat, "");
    field("num_chunks", num_chunks, "");
    field("kv_cache_size", kv_cache_size, "");
  }
  SequenceLayout layout() const {
    return interleaved_layout(num_chunks, {1, 1, chunk_tokens}, repeat, kv_cache_size);
  }
};

template <class T>
T read_options(const Run& run) {
  T value;
  options::read(run.options(), value, "options");
  return value;
}

}  // namespace

ops::NewtonSchulzOptions read_newton_schulz(const Json& json, const std::string& path) {
  NewtonSchulzCase value;
  options::read(json, value, path);
  return value.translated(path);
}

void take_newton_schulz(Json& options, ttt::UpdateRule& rule) {
  if (const auto found = options.find("newton_schulz"); found != options.end()) {
    if (!found->is_null()) rule.newton_schulz = read_newton_schulz(*found, "options.newton_schulz");
    options.erase("newton_schulz");
  }
}

void run_newton_schulz(Run& run) {
  const auto options = read_newton_schulz(run.options(), "options");
  const at::Tensor output = ops::newton_schulz(run.input("G"), options);
  run.expect("output", output);
  run.expect_loss_and_gradients(output);
  run.ignore("output_fp32");
}

void run_ttt(Run& run) {
  Json json = run.options();
  ttt::UpdateRule update;
  update.muon = json.contains("newton_schulz") && !json["newton_schulz"].is_null();
  take_newton_schulz(json, update);
  const Json steps =
      json.contains("schedule") ? json["schedule"] : run.description().value("schedule", Json());
  json.erase("schedule");
  TttCase options;
  options::read(json, options, "options");
  update.momentum = options.momentum;
  update.norm_placement = options.norm_placement;
  update.detach_norm = options.initial_norm == InitialNorm::detached;

  const bool linear = options.network == "linear";
  const std::vector<std::string> weights =
      linear ? std::vector<std::string>{"W"} : std::vector<std::string>{"w0", "w1", "w2"};
  const std::vector<std::string> rates =
      linear ? std::vector<std::string>{"lr"} : std::vector<std::string>{"lr0", "lr1", "lr2"};
  const auto transposed = [&](const at::Tensor& weight) {
    return options.weight_layout == WeightLayout::in_out ? weight.transpose(-2, -1) : weight;
  };
  // Cases hold [B·H, ...]: a batch of one to the scan.
  const auto batched = [](const at::Tensor& x) { return x.unsqueeze(0); };

  ttt::Matrices initial;
  for (const auto& name : weights) initial.push_back(batched(transposed(run.input(name))));
  ttt::ScanInputs inputs;
  inputs.q = batched(run.input("q").to(run.precision()));
  inputs.k = batched(run.input("k").to(run.precision()));
  inputs.v = batched(run.input("v").to(run.precision()));
  for (const auto& name : rates) inputs.rates.push_back(batched(run.input(name)));
  if (options.momentum) inputs.beta = batched(run.input("momentum"));

  ttt::Memory memory = ttt::start_memory(update, initial);
  const ttt::FastWeightRule rule = {ttt::network(options.network), ttt::loss("dot_product"), update};
  const at::Tensor output = ttt::scan(rule, read_schedule(steps), inputs, memory).squeeze(0);
  run.expect("output", output);
  for (size_t i = 0; i < weights.size(); ++i) {
    if (run.has(weights[i] + "_final"))
      run.expect(weights[i] + "_final", transposed(memory.weights[i].squeeze(0)));
  }
  run.expect_loss_and_gradients(output);
  run.ignore("output_fp32");
}

void run_sliding_attention(Run& run) {
  const auto options = read_options<SlidingCase>(run);
  run_attention(run, ops::sliding_window({0, run.input("q").size(1)}, options.window));
}

void run_block_attention(Run& run) {
  const auto options = read_options<BlocksCase>(run);
  run_attention(run, ops::block_window(options.blocks * options.tokens_per_block, options.tokens_per_block));
}

void run_video_window_attention(Run& run) {
  run_attention(run, read_options<VideoWindowCase>(run).layout().window);
}

void run_full_block_causal_attention(Run& run) {
  run_attention(run, full_window(read_options<VideoWindowCase>(run).layout()));
}

}  // namespace lact::golden
