#include "lact/cli/plan_report.h"

#include "lact/base/format.h"
#include "lact/cli/info_report.h"

namespace lact::cli {

using models::plan::Arrangement;
using models::plan::Machine;
using models::plan::MemoryUse;
using models::plan::PartTime;
using models::plan::Pass;
using models::plan::Prediction;
using models::plan::Workload;
using options::Json;

namespace {

constexpr size_t kMostSuggestions = 8;

std::string time_text(double seconds) {
  return seconds < 1 ? fmt::format("{:.2f} ms", 1e3 * seconds) : fmt::format("{:.2f} s", seconds);
}

std::string or_dash(double value, const std::string& text) { return value == 0 ? "-" : text; }

std::string flops_text(double flops) { return or_dash(flops, human(flops, " G")); }

std::string bytes_text(double bytes) { return or_dash(bytes, format_bytes(bytes)); }

std::string percent(double share) { return fmt::format("{:.1f}%", 100 * share); }

std::string work_table(const Workload& workload, const Machine& machine, const Prediction& prediction) {
  std::string text = fmt::format("{:<34}{:>10}{:>12}{:>8}{:>12}{:>8}\n", "work of a rank", "FLOPs",
                                 "elementwise", "share", "time", "");
  for (const PartTime& part : prediction.work) {
    if (part.seconds == 0) continue;
    const std::string share =
        part.flops == 0 ? "-" : percent(machine.shares(workload.sizes.bf16).of(part.kind));
    text += fmt::format("{:<34}{:>10}{:>12}{:>8}{:>12}{:>8}\n", part.name, flops_text(part.flops),
                        bytes_text(part.bytes), share, time_text(part.seconds),
                        percent(part.seconds / prediction.seconds));
  }
  return text;
}

std::string traffic_table(const Prediction& prediction) {
  if (prediction.traffic.empty()) return "";
  std::string text = fmt::format("\n{:<34}{:>10}{:>12}{:>8}{:>12}{:>8}\n", "sent by a rank", "axis", "sent",
                                 "calls", "time", "");
  for (const auto& part : prediction.traffic) {
    text +=
        fmt::format("{:<34}{:>10}{:>12}{:>8.0f}{:>12}{:>8}\n", part.name, part.axis, format_bytes(part.sent),
                    part.calls, time_text(part.seconds), percent(part.seconds / prediction.seconds));
  }
  if (prediction.hidden > 0)
    text += fmt::format("{:<34}{:>10}{:>12}{:>8}{:>12}\n", "hidden behind the backward pass", "data", "", "",
                        "-" + time_text(prediction.hidden));
  return text;
}

std::string memory_table(const Machine& machine, const Prediction& prediction) {
  const MemoryUse& use = prediction.memory;
  std::string text = "\nmemory of a rank\n";
  const auto line = [&](const char* name, double bytes, const std::string& note = "") {
    if (bytes > 0) text += fmt::format("{:<34}{:>10}{}\n", name, format_bytes(bytes), note);
  };
  line("weights", use.weights);
  line("moments", use.moments);
  line("gradients", use.gradients,
       use.gradients_stay ? "" : "  take the place of activations as these are freed");
  line("activations", use.activations);
  line("workspaces", use.workspaces);
  line("most at once", use.peak(),
       fmt::format("  of {}: {}", format_bytes(machine.memory), prediction.fits ? "fits" : "does NOT fit"));
  return text;
}

std::string settings_text(const Workload& workload, const Arrangement& arrangement) {
  std::string text = fmt::format("{}", options::word_of(workload.sizes.pass));
  text += workload.sizes.bf16 ? ", bf16" : ", f32";
  if (workload.sizes.pass == Pass::train) {
    text += fmt::format(", recompute {}, shard {}", options::word_of(arrangement.recompute),
                        options::word_of(arrangement.shard));
  }
  return text;
}

Json memory_json(const MemoryUse& use) {
  return {{"weights", use.weights},         {"moments", use.moments},       {"gradients", use.gradients},
          {"activations", use.activations}, {"workspaces", use.workspaces}, {"peak", use.peak()}};
}

Json mesh_json(const Arrangement& arrangement) {
  return {{"data", arrangement.mesh.data},
          {"context", arrangement.mesh.context},
          {"tensor", arrangement.mesh.tensor}};
}

/// What suggestions and the whole report share.
Json summary_json(const Prediction& prediction) {
  const Arrangement& arrangement = prediction.arrangement;
  return {{"mesh", mesh_json(arrangement)},
          {"ranks", arrangement.mesh.ranks()},
          {"recompute", options::word_of(arrangement.recompute)},
          {"shard", options::word_of(arrangement.shard)},
          {"seconds", prediction.seconds},
          {"tokens", prediction.tokens},
          {"tokens_per_second", prediction.tokens_per_second()},
          {"tokens_per_second_per_rank", prediction.tokens_per_second() / double(arrangement.mesh.ranks())},
          {"memory", memory_json(prediction.memory)},
          {"fits", prediction.fits}};
}

}  // namespace

std::string plan_report(const std::string& name, const Workload& workload, const Machine& machine,
                        const Prediction& prediction) {
  const Arrangement& arrangement = prediction.arrangement;
  const auto ranks = double(arrangement.mesh.ranks());
  const int64_t batches = arrangement.micro_batches(), count = arrangement.mesh.ranks();
  std::string text = fmt::format("{}, {} parameters: {}\n", name, human(workload.parameters),
                                 settings_text(workload, arrangement));
  text +=
      fmt::format("{} micro-batch{} of size {}, {}; {} tokens in all\n", batches, batches == 1 ? "" : "es",
                  arrangement.batch, workload.text, format_count(prediction.tokens));
  text += fmt::format("{} rank{} ({}), each one of: {}\n\n", count, count == 1 ? "" : "s",
                      parallel::to_string(arrangement.mesh), machine.name);
  text += work_table(workload, machine, prediction) + traffic_table(prediction) +
          memory_table(machine, prediction);
  const char* unit = workload.sizes.pass == Pass::train ? "step" : "pass";
  text += fmt::format("\n{:<34}{:>10}   {} tokens/s, {} per rank\n", std::string("time of a ") + unit,
                      time_text(prediction.seconds), format_count(prediction.tokens_per_second()),
                      format_count(prediction.tokens_per_second() / ranks));
  text +=
      fmt::format("{:<34}{:>10}   {} of the peak\n", "operations of a rank", human(prediction.flops(), " G"),
                  percent(prediction.flops() / prediction.seconds / machine.peak(workload.sizes.bf16)));
  if (arrangement.mesh.shards() > 1) {
    text += fmt::format("{:<34}{:>10}   of the time without messages\n", "context and tensor messages",
                        percent(prediction.overhead("context") + prediction.overhead("tensor")));
  }
  text += "\nassumptions\n";
  for (const auto& sentence : machine.assumptions) text += "* " + sentence + "\n";
  return text;
}

Json plan_json(const std::string& name, const Workload& workload, const Machine& machine,
               const Prediction& prediction) {
  Json json = summary_json(prediction);
  json["name"] = name;
  json["machine"] = machine.name;
  json["pass"] = options::word_of(workload.sizes.pass);
  json["precision"] = workload.sizes.bf16 ? "bf16" : "f32";
  json["parameters"] = workload.parameters;
  json["batch"] = prediction.arrangement.batch;
  json["micro_batches"] = prediction.arrangement.micro_batches();
  json["flops"] = prediction.flops();
  json["sent"] = prediction.sent();
  json["compute_seconds"] = prediction.compute;
  json["hidden_seconds"] = prediction.hidden;
  json["memory_of_machine"] = machine.memory;
  json["work"] = json["traffic"] = Json::array();
  for (const auto& part : prediction.work) {
    json["work"].push_back(
        {{"name", part.name}, {"flops", part.flops}, {"bytes", part.bytes}, {"seconds", part.seconds}});
  }
  for (const auto& part : prediction.traffic) {
    json["traffic"].push_back({{"name", part.name},
                               {"axis", part.axis},
                               {"calls", part.calls},
                               {"payload", part.payload},
                               {"sent", part.sent},
                               {"seconds", part.seconds}});
  }
  json["assumptions"] = machine.assumptions;
  return json;
}

std::string suggestions_report(const Workload& workload, const Machine& machine,
                               const std::vector<Prediction>& all) {
  std::string text = fmt::format(
      "\nmeshes of {} ranks, the best first\n{:<34}{:>11}{:>12}{:>12}{:>12}{:>12}\n",
      all.front().arrangement.mesh.ranks(), "mesh", "recompute", "shard", "memory", "time", "tokens/s");
  for (size_t i = 0; i < std::min(all.size(), kMostSuggestions); ++i) {
    const Prediction& one = all[i];
    text += fmt::format("{:<34}{:>11}{:>12}{:>12}{:>12}{:>12}{}\n", parallel::to_string(one.arrangement.mesh),
                        options::word_of(one.arrangement.recompute), options::word_of(one.arrangement.shard),
                        format_bytes(one.memory.peak()), time_text(one.seconds),
                        format_count(one.tokens_per_second()), one.fits ? "" : "  does not fit");
  }
  if (!all.front().fits) {
    text += fmt::format(
        "No mesh of so many ranks fits {} of a rank: more ranks, a shorter {} or a smaller batch.\n",
        format_bytes(machine.memory), workload.sequence);
  }
  return text;
}

Json suggestions_json(const std::vector<Prediction>& all) {
  Json list = Json::array();
  for (const auto& one : all) list.push_back(summary_json(one));
  return list;
}

}  // namespace lact::cli
