// Which version of the kernels runs. Files below kernels/isa/ are compiled once for every instruction set,
// each time in a namespace of that name; the best one this processor has is chosen when the program starts.
#pragma once

#include <string_view>

namespace lact::kernels {

/// Ordered: every set contains the ones before it.
enum class Isa { generic, avx2, avx512, avx512_bf16, amx };

std::string_view isa_name(Isa isa);

/// What this processor can run.
Isa best_isa();

/// What runs: the best, or less if the environment variable LACT_ISA names it ("generic", "avx2", ...).
Isa isa();

/// For tests; false if the processor does not have it. Not while kernels run.
bool set_isa(Isa isa);

/// How matrix products read bfloat16 tensors: as pairs of bfloat16 where the processor multiplies them faster
/// than single numbers, in tile registers or in vectors, and widened to float32 elsewhere. Tests switch pairs
/// on everywhere: the product of a pair is then spelled out.
bool multiplies_pairs();
void set_multiplies_pairs(bool on);

/// The same for kernels that do not use tile registers.
bool multiplies_pairs_in_vectors();

}  // namespace lact::kernels

/// LACT_KERNEL_TABLE(AdamwKernels, adamw): declares `adamw_kernels()`, the table for the instruction set in
/// use. Every compilation of kernels/isa/adamw.cpp defines `const AdamwKernels adamw` in its namespace.
/// LACT_TILE_KERNEL_TABLE: the same, of a source that is compiled for tile registers (amx), too.
#if defined(__x86_64__)
#define LACT_KERNEL_TABLE(Table, name)     \
  LACT_DECLARE_VECTOR_KERNELS(Table, name) \
  inline const Table& name##_kernels() { return name##_vector_kernels(); }
#define LACT_TILE_KERNEL_TABLE(Table, name)  \
  LACT_DECLARE_VECTOR_KERNELS(Table, name)   \
  namespace amx {                            \
  extern const Table name;                   \
  }                                          \
  inline const Table& name##_kernels() {     \
    if (isa() == Isa::amx) return amx::name; \
    return name##_vector_kernels();          \
  }
#define LACT_DECLARE_VECTOR_KERNELS(Table, name) \
  namespace generic {                            \
  extern const Table name;                       \
  }                                              \
  namespace avx2 {                               \
  extern const Table name;                       \
  }                                              \
  namespace avx512 {                             \
  extern const Table name;                       \
  }                                              \
  namespace avx512_bf16 {                        \
  extern const Table name;                       \
  }                                              \
  inline const Table& name##_vector_kernels() {  \
    switch (isa()) {                             \
      case Isa::amx:                             \
      case Isa::avx512_bf16:                     \
        return avx512_bf16::name;                \
      case Isa::avx512:                          \
        return avx512::name;                     \
      case Isa::avx2:                            \
        return avx2::name;                       \
      case Isa::generic:                         \
        break;                                   \
    }                                            \
    return generic::name;                        \
  }
#else
#define LACT_KERNEL_TABLE(Table, name) \
  namespace generic {                  \
  extern const Table name;             \
  }                                    \
  inline const Table& name##_kernels() { return generic::name; }
#define LACT_TILE_KERNEL_TABLE LACT_KERNEL_TABLE
#endif
