#include "lact/bench/machine.h"

#include <fmt/format.h>
#include <torch/version.h>

#include <fstream>

#include "lact/base/threads.h"
#include "lact/kernels/isa.h"

namespace lact::bench {

namespace {

using options::Json;

double load_average() {
  double load = 0;
  std::ifstream("/proc/loadavg") >> load;
  return load;
}

Json giga(const std::optional<double>& value) { return value ? Json(*value / 1e9) : Json(nullptr); }

}  // namespace

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

Machine measure_machine(bool brief) {
  Machine machine;
  machine.cpu = cpu_name();
  machine.isa = kernels::isa_name(kernels::isa());
  machine.torch = TORCH_VERSION;
  machine.blas = blas_name();
  machine.cores = available_cores();
  machine.load = load_average();
  machine.limits = ops::machine_limits(brief);
  return machine;
}

Json to_json(const Machine& machine) {
  const auto& limits = machine.limits;
  return {{"cpu", machine.cpu},
          {"cores", machine.cores},
          {"threads", limits.threads},
          {"isa", machine.isa},
          {"load", machine.load},
          {"f32_gflops", giga(limits.f32)},
          {"bf16_gflops", giga(limits.bf16)},
          {"int8_gops", giga(limits.int8)},
          {"peak_gflops", giga(limits.peak())},
          {"peak_of", machine.peak_kind()},
          {"read_gb_per_s", giga(limits.read)},
          {"copy_gb_per_s", giga(limits.copy)},
          {"libtorch", machine.torch},
          {"blas", machine.blas},
          {"pytorch", machine.pytorch.empty() ? Json(nullptr) : Json(machine.pytorch)}};
}

std::string machine_text(const Machine& machine) {
  const auto& limits = machine.limits;
  const auto rate = [](const std::optional<double>& value, const char* unit) {
    return value ? fmt::format("{:.1f} {}", *value / 1e9, unit) : std::string("no such instruction");
  };
  std::string text;
  const auto line = [&](const char* name, const std::string& value) {
    text += fmt::format("{:<12}{}\n", name, value);
  };
  line("processor", fmt::format("{}, {} cores, {} threads in use, load {:.1f}", machine.cpu, machine.cores,
                                limits.threads, machine.load));
  line("kernels", machine.isa);
  line("f32", rate(limits.f32, "GFLOP/s"));
  line("bf16", rate(limits.bf16, "GFLOP/s") +
                   (limits.pairs_pay() ? "" : "; shares of peak are shares of the f32 peak"));
  line("int8", rate(limits.int8, "GOP/s"));
  line("memory", fmt::format("read {:.1f} GB/s, copy {:.1f} GB/s (read + written)", limits.read / 1e9,
                             limits.copy / 1e9));
  line("LibTorch", fmt::format("{}, {}", machine.torch, machine.blas));
  line("PyTorch", machine.pytorch.empty() ? "not measured" : machine.pytorch);
  return text;
}

}  // namespace lact::bench
