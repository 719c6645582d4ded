// Runs a test once for every instruction set that this processor has.
#pragma once

#include <string>

#include "lact/kernels/isa.h"

namespace lact::testing {

/// body(name) with each set in turn, and with products of pairs off and on; the best set is in use
/// afterwards.
template <class Body>
void for_each_isa(const Body& body) {
  using kernels::Isa;
  for (const Isa isa : {Isa::generic, Isa::avx2, Isa::avx512, Isa::avx512_bf16}) {
    if (!kernels::set_isa(isa)) continue;
    for (const bool pairs : {false, true}) {
      kernels::set_multiplies_pairs(pairs);
      body(std::string(kernels::isa_name(isa)) + (pairs ? ", pairs" : ""));
    }
  }
  kernels::set_multiplies_pairs(false);
  kernels::set_isa(kernels::best_isa());
}

}  // namespace lact::testing
