#include "lact/kernels/isa.h"

#include <atomic>
#include <cstdlib>

namespace lact::kernels {

namespace {

constexpr Isa kAll[] = {Isa::generic, Isa::avx2, Isa::avx512, Isa::avx512_bf16};

/// An unknown word is ignored here; a processor's own best is the only sensible default.
Isa first_isa() {
  const char* wanted = std::getenv("LACT_ISA");
  if (wanted == nullptr) return best_isa();
  for (const Isa isa : kAll) {
    if (isa_name(isa) == wanted && isa <= best_isa()) return isa;
  }
  return best_isa();
}

std::atomic<Isa> chosen = first_isa();
std::atomic<bool> pairs_everywhere = false;

}  // namespace

std::string_view isa_name(Isa isa) {
  switch (isa) {
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
  return __builtin_cpu_supports("avx512bf16") ? Isa::avx512_bf16 : Isa::avx512;
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

bool multiplies_pairs() { return pairs_everywhere || isa() == Isa::avx512_bf16; }
void set_multiplies_pairs(bool on) { pairs_everywhere = on; }

}  // namespace lact::kernels
