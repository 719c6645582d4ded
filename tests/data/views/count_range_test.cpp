#include "lact/data/views/count_range.h"

#include <gtest/gtest.h>

#include <set>

#include "support/errors.h"

namespace lact::data {
namespace {

TEST(CountRange, IsANumberOrFromOneToAnother) {
  EXPECT_EQ(CountRange::parse("4"), CountRange(4));
  EXPECT_EQ(CountRange::parse("4-8"), CountRange(4, 8));
  EXPECT_EQ(CountRange(4, 8).text(), "4-8");
  EXPECT_EQ(CountRange(4).text(), "4");
  for (const char* text : {"", "-", "4-", "4-8-9", "8-4", "4 - 8", "many", "4x8"})
    EXPECT_SENTENCE(CountRange::parse(text), "is not a number or a range");
}

TEST(CountRange, AllNumbersOfItAreDrawn) {
  Random random(1);
  std::set<int64_t> drawn;
  for (int i = 0; i < 100; ++i) drawn.insert(CountRange(2, 5).draw(random));
  EXPECT_EQ(drawn, (std::set<int64_t>{2, 3, 4, 5}));
  EXPECT_EQ(CountRange(7).draw(random), 7);
}

}  // namespace
}  // namespace lact::data
