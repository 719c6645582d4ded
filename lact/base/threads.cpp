#include "lact/base/threads.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <dlfcn.h>
#include <sched.h>

#include <charconv>
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

/// What OMP_NUM_THREADS asks for; 0 where it asks for nothing. Of a list, the first counts: the others are
/// for loops inside of loops.
int threads_of_environment() {
  const char* const text = std::getenv("OMP_NUM_THREADS");
  const std::string_view word = text == nullptr ? "" : text;
  int count = 0;
  std::from_chars(word.data(), word.data() + word.size(), count);
  return count >= 1 && count <= most_threads() ? count : 0;
}

/// A function of OpenBLAS, or null.
template <class Function>
Function openblas_function(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

/// The name of OpenBLAS for a processor that it may be too old to know; empty if it cannot be better off.
std::string better_openblas_core() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) return "SkylakeX";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#endif
  return "";
}

/// OpenBLAS chooses its kernels before main, and takes a processor that is younger than itself for one of
/// twenty years ago: ten times slower. It is told by the environment, which it reads again when it chooses
/// anew; programs that we start inherit it.
void name_openblas_core() {
  using Choose = void (*)();
  const auto forget = openblas_function<Choose>("gotoblas_dynamic_quit"),
             choose = openblas_function<Choose>("gotoblas_dynamic_init");
  const std::string core = better_openblas_core();
  if (openblas_core() != "Prescott" || core.empty() || forget == nullptr || choose == nullptr) return;
  if (setenv("OPENBLAS_CORETYPE", core.c_str(), /*overwrite=*/0) != 0) return;
  forget();
  choose();
}

}  // namespace

int most_threads() { return 8 * available_cores(); }

void use_threads(int count) {
  LACT_CHECK(count >= 0 && count <= most_threads(),
             "--threads is {}, expected 0 (all cores) to {}, eight for each of {} cores", count,
             most_threads(), available_cores());
  avoid_onednn_tiles();
  name_openblas_core();
  if (count == 0) count = threads_of_environment();
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

std::string openblas_core() {
  const auto name = openblas_function<const char* (*)()>("openblas_get_corename");
  return name == nullptr ? "" : name();
}

std::string libtorch_capability() {
  // LibTorch tells which of its kernels it chose only in the text of its configuration.
  const std::string config = at::show_config(), label = "CPU capability usage: ";
  std::string name = "unknown";
  if (const size_t found = config.find(label); found != std::string::npos) {
    const size_t begin = found + label.size();
    name = config.substr(begin, config.find('\n', begin) - begin);
  }
  return name;
}

}  // namespace lact
