// Runs a test once for every instruction set that this processor has.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "lact/kernels/isa.h"

namespace lact::testing {

/// body(name) with each set in turn; the best set is in use afterwards.
template <class Body>
void for_each_isa(const Body& body) {
  using kernels::Isa;
  for (const Isa isa : {Isa::generic, Isa::avx2, Isa::avx512, Isa::avx512_bf16, Isa::amx}) {
    if (!kernels::set_isa(isa)) continue;
    const std::string name(kernels::isa_name(isa));
    SCOPED_TRACE(name);
    body(name);
  }
  kernels::set_isa(kernels::best_isa());
}

/// The same, and with products of pairs off and on.
template <class Body>
void for_each_isa_and_pairs(const Body& body) {
  for_each_isa([&](const std::string& name) {
    for (const bool pairs : {false, true}) {
      kernels::set_multiplies_pairs(pairs);
      body(name + (pairs ? ", pairs" : ""));
    }
    kernels::set_multiplies_pairs(false);
  });
}

/// A test fixture whose parameter is the set in use.
class OnInstructionSet : public ::testing::TestWithParam<kernels::Isa> {
 protected:
  void SetUp() override {
    if (!kernels::set_isa(GetParam()))
      GTEST_SKIP() << "this processor lacks " << kernels::isa_name(GetParam());
  }
  void TearDown() override {
    kernels::set_multiplies_pairs(false);
    kernels::set_isa(kernels::best_isa());
  }
};
inline std::string isa_of(const ::testing::TestParamInfo<kernels::Isa>& info) {
  return std::string(kernels::isa_name(info.param));
}

}  // namespace lact::testing
