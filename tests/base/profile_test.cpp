#include "lact/base/profile.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <map>

namespace lact::profile {
namespace {

std::map<std::string, Part> by_name(const std::vector<Part>& parts) {
  std::map<std::string, Part> map;
  for (const auto& part : parts) map[part.name] = part;
  return map;
}

at::Tensor two_parts(const at::Tensor& x) {
  at::Tensor y;
  {
    const Scope part("first");
    y = x.exp();
    const Scope inner("inner");
    y = y.sin();
  }
  const Scope part("second");
  return y.tanh();
}

TEST(Profile, BackwardTimeBelongsToThePartThatRecordedTheNode) {
  const at::Tensor x = at::randn({1000}).requires_grad_(true);
  start();
  two_parts(x).sum().backward();
  const auto parts = by_name(stop());
  ASSERT_EQ(parts.size(), 4u);
  for (const char* name : {"first", "inner", "second", "other"}) {
    EXPECT_GT(parts.at(name).forward, 0) << name;
    EXPECT_GT(parts.at(name).backward, 0) << name;  // "other" has the sum
  }
}

TEST(Profile, AHeavyNodeIsCountedForItsOwnPartAndNotForItsNeighbours) {
  const at::Tensor x = at::randn({400, 400}).requires_grad_(true);
  start();
  at::Tensor y;
  {
    const Scope part("before");
    y = x + 1;
  }
  {
    const Scope part("heavy");  // one node
    y = at::mm(y, y);
  }
  {
    const Scope part("after");
    y = y + 1;
  }
  y.sum().backward();
  const auto parts = by_name(stop());
  for (const char* light : {"before", "after", "other"}) {
    EXPECT_GT(parts.at("heavy").backward, 2 * parts.at(light).backward) << light;
  }
}

TEST(Profile, APartWithoutGradientsHasNoBackward) {
  const at::Tensor x = at::randn({1000});
  start();
  two_parts(x);
  const auto parts = by_name(stop());
  EXPECT_GT(parts.at("second").forward, 0);
  EXPECT_EQ(parts.at("second").backward, 0);
}

TEST(Profile, ScopesOutsideOfAProfileAreNothing) {
  two_parts(at::randn({10}));
  start();
  const auto parts = stop();
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].name, "other");
}

}  // namespace
}  // namespace lact::profile
