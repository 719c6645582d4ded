#include "lact/cli/info_report.h"

#include <algorithm>

namespace lact::cli {

using models::CostPart;
using models::ModelConfig;
using models::ModelCost;
using options::Json;

namespace {

constexpr const char* kCount = " B";
constexpr const char* kFlops = " G";

std::string row(const CostPart& part) {
  const auto cell = [](double value, const char* billion) {
    return value == 0 ? "-" : human(value, billion);
  };
  return fmt::format("{:<28}{:>12}{:>12}{:>14}\n", part.name, cell(double(part.parameters), kCount),
                     cell(double(part.state), kCount), cell(part.flops, kFlops));
}

/// Zeros where no block has fast weights.
models::FastWeightCost fast_weights_of(const ModelCost& cost) {
  for (const auto& block : cost.blocks)
    if (block.memory.state > 0) return block.memory;
  return {};
}

/// Learned initial fast weights of all blocks.
int64_t initial_fast_weights(const ModelCost& cost) {
  int64_t parameters = 0;
  for (const auto& block : cost.blocks) parameters += block.count * block.memory.parameters;
  return parameters;
}

double per_block(const models::BlockCost& block, const ModelCost& cost) {
  return double(block.one().state) / double(cost.model_dim);
}

/// "0.75 d^2 = 2304 d per block", and what its attention keeps.
std::string state_text(const models::BlockCost& block, const ModelCost& cost) {
  if (block.grows() && block.kept_tokens > 0)
    return fmt::format("grows: keys and values, 2 d per token and block, here of {} tokens",
                       int64_t(block.kept_tokens));
  std::string text = "none of a block's own";
  if (const double widths = per_block(block, cost); widths > 0) {
    text = fmt::format("{:.4g} d^2 per block = {:.6g} d", widths / double(cost.model_dim), widths);
  }
  if (block.kept_tokens > 0) {
    text += fmt::format("; besides, keys and values of the window's {} tokens", int64_t(block.kept_tokens));
  }
  return text;
}

std::string muon_text(const ModelCost& cost) {
  const auto& memory = fast_weights_of(cost);
  const double per_token = memory.muon_flops / cost.around.chunk, chunk = memory.break_even_chunk();
  std::string text = fmt::format(
      "\nMuon takes {} FLOPs per update of a block, {} per token with chunks of {} tokens.\n"
      "It costs as much as update and apply together for chunks of {:.4g} head widths = {:.0f} tokens",
      human(memory.muon_flops, kFlops), human(per_token, kFlops), int64_t(cost.around.chunk),
      chunk / double(memory.head_dim), chunk);
  if (memory.num_matrices == 1) return text + ".\n";
  return text +
         fmt::format(
             ";\ncounted for one of its {} matrices, as in the paper, {:.3g} head widths = {:.0f} tokens.\n",
             memory.num_matrices, chunk / double(memory.num_matrices * memory.head_dim),
             chunk / double(memory.num_matrices));
}

Json parts_json(const std::vector<CostPart>& parts) {
  Json list = Json::array();
  for (const auto& part : parts) {
    list.push_back({{"name", part.name},
                    {"parameters", part.parameters},
                    {"state", part.state},
                    {"flops_per_token", part.flops}});
  }
  return list;
}

Json blocks_json(const ModelCost& cost) {
  Json list = Json::array();
  for (const auto& block : cost.blocks) {
    list.push_back({{"mixer", options::word_of(block.mixer)},
                    {"count", block.count},
                    {"state_d", per_block(block, cost)},
                    {"grows_per_token_d", block.grows() && block.kept_tokens > 0 ? 2 : 0},
                    {"kept_tokens", block.kept_tokens},
                    {"parts", parts_json(block.parts)}});
  }
  return list;
}

/// Of the window, or of full attention where there is nothing else.
int64_t attended_tokens(const ModelCost& cost) {
  const bool all_full =
      std::all_of(cost.blocks.begin(), cost.blocks.end(), [](const auto& block) { return block.grows(); });
  return int64_t(all_full ? cost.around.everything : cost.around.attended);
}

}  // namespace

std::string human(double value, const char* billion) {
  const char* const units[] = {"", " k", " M", billion, " T", " P", " E"};
  size_t unit = 0;
  while (value >= 999.5 && unit + 1 < std::size(units)) value /= 1000, ++unit;
  if (unit == 0) return fmt::format("{:.0f}", value);
  return fmt::format("{:.{}f}{}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, units[unit]);
}

std::string shape_text(const ModelConfig& config, const ModelCost& cost) {
  constexpr const char* kTasks[] = {"language model", "view synthesis", "video"};
  const std::string mixer = std::visit([](const auto& any) { return any.mixer.text(); }, config);
  return fmt::format("{}, {} blocks of width {}{}", kTasks[config.index()], cost.num_layers, cost.model_dim,
                     mixer == "lact" ? "" : ", " + mixer);
}

std::string info_text(const std::string& name, const ModelConfig& config, const ModelCost& cost) {
  const CostPart total = cost.total();
  std::string text = fmt::format("{}: {}\n\n", name, shape_text(config, cost));
  const auto line = [&](const char* label, const std::string& value, const std::string& note) {
    text += fmt::format("{:<24}{:>8}   {}\n", label, value, note);
  };
  line("parameters", human(double(total.parameters)), fmt::format("{}", total.parameters));
  const bool one_word = cost.blocks.size() == 1;
  line("state", human(double(total.state)),
       fmt::format("{:.1f}% of the parameters", 100 * cost.state_share()));
  for (const auto& block : cost.blocks) {
    line("", "",
         (one_word ? "" : fmt::format("{}: ", options::word_of(block.mixer))) + state_text(block, cost));
  }
  for (const auto& part : cost.others) {
    if (part.state > 0)
      line("", "",
           fmt::format("{}: {:.6g} d for all blocks together", part.name,
                       double(part.state) / double(cost.model_dim)));
  }
  const auto memory = fast_weights_of(cost);
  if (memory.parameters > 0) {
    line("initial fast weights", human(double(initial_fast_weights(cost))), "learned, among the parameters");
  }
  line("FLOPs per token", human(total.flops, kFlops),
       fmt::format("forward; attention to {} tokens, chunks of {}", attended_tokens(cost),
                   int64_t(cost.around.chunk)));
  if (memory.state > 0) {
    line("compute to memory", fmt::format("{:.3g}", memory.compute_to_memory(cost.around.chunk)),
         fmt::format("FLOPs per byte of a fast-weight product in bf16 (paper eq. 3), matrices of {} x {}",
                     memory.hidden_dim, memory.head_dim));
  }

  text += fmt::format("\n{:<28}{:>12}{:>12}{:>14}\n", "part", "parameters", "state", "FLOPs/token");
  for (const auto& block : cost.blocks) {
    for (const auto& part : block.parts) text += row(part);
    CostPart one = block.one();
    if (!one_word) one.name = fmt::format("one of {} with {}", block.count, options::word_of(block.mixer));
    text += row(one) + "\n";
  }
  for (const auto& part : cost.others) text += row(part);
  text += row(total);
  if (memory.muon_flops > 0) text += muon_text(cost);
  return text;
}

Json info_json(const std::string& name, const ModelConfig& config, const ModelCost& cost) {
  const CostPart total = cost.total();
  Json json = {{"name", name},
               {"task", options::word_of(task_of(config))},
               {"model_dim", cost.model_dim},
               {"num_layers", cost.num_layers},
               {"parameters", total.parameters},
               {"state", total.state},
               {"state_share", cost.state_share()},
               {"initial_fast_weights", initial_fast_weights(cost)},
               {"flops_per_token", total.flops},
               {"attended_tokens", attended_tokens(cost)},
               {"chunk_tokens", cost.around.chunk},
               {"mixer", std::visit([](const auto& any) { return any.mixer.text(); }, config)},
               {"blocks", blocks_json(cost)},
               {"others", parts_json(cost.others)}};
  if (cost.blocks.size() == 1) {
    json["state_per_block_d2"] = cost.state_in_squares();
    json["state_per_block_d"] = cost.state_in_widths();
    json["block"] = parts_json(cost.block());
  }
  const auto memory = fast_weights_of(cost);
  if (memory.state > 0) json["compute_to_memory"] = memory.compute_to_memory(cost.around.chunk);
  if (memory.muon_flops > 0) {
    json["muon"] = {
        {"flops_per_block_update", memory.muon_flops},
        {"head_dim", memory.head_dim},
        {"break_even_chunk", memory.break_even_chunk()},
        {"break_even_chunk_of_one_matrix", memory.break_even_chunk() / double(memory.num_matrices)}};
  }
  return json;
}

}  // namespace lact::cli
