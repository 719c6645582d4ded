#include "lact/cli/info_report.h"

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

std::string muon_text(const ModelCost& cost) {
  const auto& memory = cost.memory;
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
  return fmt::format("{}, {} blocks of width {}", kTasks[config.index()], cost.num_layers, cost.model_dim);
}

std::string info_text(const std::string& name, const ModelConfig& config, const ModelCost& cost) {
  const CostPart total = cost.total();
  std::string text = fmt::format("{}: {}\n\n", name, shape_text(config, cost));
  const auto line = [&](const char* label, const std::string& value, const std::string& note) {
    text += fmt::format("{:<24}{:>8}   {}\n", label, value, note);
  };
  line("parameters", human(double(total.parameters)), fmt::format("{}", total.parameters));
  line("fast-weight state", human(double(total.state)),
       fmt::format("{:.1f}% of the parameters, {:.4g} d^2 per block", 100 * cost.state_share(),
                   cost.state_in_squares()));
  line("initial fast weights", human(double(cost.num_layers * cost.memory.parameters)),
       "learned, among the parameters");
  line("FLOPs per token", human(total.flops, kFlops),
       fmt::format("forward; attention to {} tokens, chunks of {}", int64_t(cost.around.attended),
                   int64_t(cost.around.chunk)));
  if (cost.memory.state > 0) {
    line("compute to memory", fmt::format("{:.3g}", cost.memory.compute_to_memory(cost.around.chunk)),
         fmt::format("FLOPs per byte of a fast-weight product in bf16 (paper eq. 3), matrices of {} x {}",
                     cost.memory.hidden_dim, cost.memory.head_dim));
  }

  text += fmt::format("\n{:<28}{:>12}{:>12}{:>14}\n", "part", "parameters", "state", "FLOPs/token");
  for (const auto& part : cost.block) text += row(part);
  text += row(sum("one block", cost.block)) + "\n";
  for (const auto& part : cost.others) text += row(part);
  text += row(total);
  if (cost.memory.muon_flops > 0) text += muon_text(cost);
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
               {"state_per_block_d2", cost.state_in_squares()},
               {"initial_fast_weights", cost.num_layers * cost.memory.parameters},
               {"flops_per_token", total.flops},
               {"attended_tokens", cost.around.attended},
               {"chunk_tokens", cost.around.chunk},
               {"block", parts_json(cost.block)},
               {"others", parts_json(cost.others)}};
  if (cost.memory.state > 0) json["compute_to_memory"] = cost.memory.compute_to_memory(cost.around.chunk);
  if (cost.memory.muon_flops > 0) {
    json["muon"] = {{"flops_per_block_update", cost.memory.muon_flops},
                    {"head_dim", cost.memory.head_dim},
                    {"break_even_chunk", cost.memory.break_even_chunk()},
                    {"break_even_chunk_of_one_matrix",
                     cost.memory.break_even_chunk() / double(cost.memory.num_matrices)}};
  }
  return json;
}

}  // namespace lact::cli
