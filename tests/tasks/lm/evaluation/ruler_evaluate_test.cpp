#include <algorithm>
#include <cmath>

#include "lact/data/text/tokenizer.h"
#include "lact/tasks/lm/evaluation/ruler.h"
#include "lact/tasks/lm/load.h"
#include "support/errors.h"
#include "support/tiny_lm.h"

namespace lact::tasks::lm::ruler {
namespace {

using data::ruler::make_examples;
using data::ruler::material;
using data::ruler::task;

TEST(RulerEvaluate, AsksTheModelForEveryExampleAndSortsThemByDepth) {
  Loaded lm;
  lm.model = lact::testing::make_lm(lact::testing::tiny_lm(/*chunk=*/64, /*window=*/64));
  lm.tokenizer = data::read_tokenizer("bytes");
  int64_t asked = 0;
  const Options options = {.length = 1500, .examples = 3, .seed = 5, .answer_tokens = 200};
  const Result result = evaluate(lm, task("S-NIAH-1"), material(), options, [&] { ++asked; });
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(result.score, 0);  // seven digits are not found by chance
  ASSERT_EQ(result.by_depth.size(), 4u);
  const auto examples = make_examples(
      task("S-NIAH-1"), material(), 1500, 3, 5, [](const std::string& text) { return int64_t(text.size()); },
      200);
  for (size_t quarter = 0; quarter < 4; ++quarter) {
    const bool expected = std::any_of(examples.begin(), examples.end(), [&](const Example& example) {
      return std::min<size_t>(3, size_t(example.depth * 4)) == quarter;
    });
    EXPECT_EQ(!std::isnan(result.by_depth[quarter]), expected) << quarter;
  }
}

}  // namespace
}  // namespace lact::tasks::lm::ruler
