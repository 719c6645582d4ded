#include "lact/base/threads.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <dlfcn.h>
#include <sched.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <thread>

#include "lact/base/error.h"

namespace lact {

int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
  return std::max(1u, std::thread::hardware_concurrency());
}

namespace {

/// oneDNN, with LibTorch 1.13 as with 2.6, dies of an illegal instruction in its tile (AMX) kernels on some
/// machines. It reads the limit when it is first used.
void avoid_onednn_tiles() { setenv("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16", /*overwrite=*/0); }

}  // namespace

void use_threads(int count) {
  LACT_CHECK(count >= 0, "--threads is {}, expected 0 (all cores) or more", count);
  avoid_onednn_tiles();
  at::set_num_threads(count == 0 ? available_cores() : count);
}

int threads_in_use() { return at::get_num_threads(); }

std::string blas_file() {
  Dl_info info{};
  void* symbol = dlsym(RTLD_DEFAULT, "sgemm_");
  if (symbol == nullptr || dladdr(symbol, &info) == 0 || info.dli_fname == nullptr) return "";
  std::error_code ignored;
  const auto resolved = std::filesystem::canonical(info.dli_fname, ignored);
  return ignored ? info.dli_fname : resolved.string();
}

std::string blas_name() {
  const std::string file = blas_file();
  if (file.empty()) return "built into LibTorch";
  const std::string folder = std::filesystem::path(file).parent_path().filename();
  if (blas_is_reference()) return "reference BLAS";
  if (file.find("openblas") != std::string::npos) return "OpenBLAS (" + folder + ")";
  return file;
}

bool blas_is_reference() {
  const std::string file = blas_file();
  return file.find("/blas/libblas") != std::string::npos;
}

std::string openblas_core_to_name() {
#if defined(__x86_64__)
  using CoreName = const char* (*)();
  const auto core = reinterpret_cast<CoreName>(dlsym(RTLD_DEFAULT, "openblas_get_corename"));
  if (core == nullptr || std::string_view(core()) != "Prescott") return "";
  if (std::getenv("OPENBLAS_CORETYPE") != nullptr) return "";
  if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) return "SkylakeX";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#endif
  return "";
}

std::string cpu_capability() {
  // LibTorch tells which of its kernels it chose only in the text of its configuration.
  const std::string config = at::show_config(), label = "CPU capability usage: ";
  std::string name = "unknown";
  if (const size_t found = config.find(label); found != std::string::npos) {
    const size_t begin = found + label.size();
    name = config.substr(begin, config.find('\n', begin) - begin);
  }
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bf16") != 0) name += ", bf16 instructions";
#endif
  return name;
}

}  // namespace lact
