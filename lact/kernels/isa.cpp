#include "lact/kernels/isa.h"

#include <atomic>
#include <cstdlib>

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace lact::kernels {

namespace {

constexpr Isa kAll[] = {Isa::generic, Isa::avx2, Isa::avx512, Isa::avx512_bf16, Isa::amx};

/// An unknown word is ignored here; a processor's own best is the only sensible default.
Isa first_isa() {
  const char* wanted = std::getenv("LACT_ISA");
  if (wanted == nullptr) return best_isa();
  for (const Isa isa : kAll) {
    if (isa_name(isa) == wanted && isa <= best_isa()) return isa;
  }
  return best_isa();
}

#if defined(__x86_64__)
/// Tile registers for bfloat16, and the system's leave to use them: their state is large, so that a process
/// has to ask.
bool has_tiles() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  constexpr unsigned kBf16 = 1u << 22, kTile = 1u << 24;
  if ((d & kBf16) == 0 || (d & kTile) == 0) return false;
#if defined(__linux__) && defined(SYS_arch_prctl)
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}
#endif

std::atomic<Isa> chosen = first_isa();
std::atomic<bool> pairs_everywhere = false;

}  // namespace

std::string_view isa_name(Isa isa) {
  switch (isa) {
    case Isa::amx:
      return "amx";
    case Isa::avx512_bf16:
      return "avx512_bf16";
    case Isa::avx512:
      return "avx512";
    case Isa::avx2:
      return "avx2";
    case Isa::generic:
      break;
  }
  return "generic";
}

Isa best_isa() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return Isa::generic;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vnni");
  if (!avx512) return Isa::avx2;
  if (!__builtin_cpu_supports("avx512bf16")) return Isa::avx512;
  static const bool tiles = has_tiles();
  return tiles ? Isa::amx : Isa::avx512_bf16;
#else
  return Isa::generic;
#endif
}

Isa isa() { return chosen.load(std::memory_order_relaxed); }

bool set_isa(Isa isa) {
  if (isa > best_isa()) return false;
  chosen = isa;
  return true;
}

bool multiplies_pairs_in_vectors() {
  // AMD's processors multiply pairs as fast as single numbers, Intel's at a quarter of that rate.
#if defined(__x86_64__)
  static const bool pays = __builtin_cpu_is("amd") != 0;
#else
  static const bool pays = false;
#endif
  return pairs_everywhere || (pays && isa() >= Isa::avx512_bf16);
}
bool multiplies_pairs() { return isa() == Isa::amx || multiplies_pairs_in_vectors(); }
void set_multiplies_pairs(bool on) { pairs_everywhere = on; }

}  // namespace lact::kernels
