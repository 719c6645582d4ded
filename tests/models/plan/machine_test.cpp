#include "lact/models/plan/machine.h"

#include <gtest/gtest.h>

#include "lact/models/plan/loopback.h"
#include "lact/models/plan/this_machine.h"

namespace lact::models::plan {
namespace {

TEST(PlanMachine, DescriptionsAreWhole) {
  for (const Machine& machine : {a100(), a100(false), h100()}) {
    SCOPED_TRACE(machine.name);
    EXPECT_GT(machine.bf16, machine.f32);
    for (const Kind kind :
         {Kind::products, Kind::scan, Kind::newton_schulz, Kind::attention, Kind::recurrence}) {
      EXPECT_GT(machine.shares(true).of(kind), 0);
      EXPECT_LT(machine.shares(true).of(kind), 1);
    }
    EXPECT_GT(machine.inside.bandwidth, machine.between.bandwidth);
    EXPECT_EQ(&machine.link(8), &machine.inside);
    EXPECT_EQ(&machine.link(9), &machine.between);
    EXPECT_FALSE(machine.assumptions.empty());
  }
}

TEST(PlanMachine, TheLoopbackCarriesBytes) {
  const Link link = loopback();
  EXPECT_GT(link.bandwidth, 0);
  EXPECT_GT(link.latency, 0);
}

}  // namespace
}  // namespace lact::models::plan
