// `lact plan` as a user runs it.
#include <filesystem>

#include "lact/models/lm/presets.h"
#include "support/places.h"
#include "support/program.h"

namespace lact {
namespace {

using lact::testing::expect_mistake;
using lact::testing::run_program;
using options::Json;
using ::testing::HasSubstr;

TEST(PlanVerb, PrintsTables) {
  const auto outcome = run_program("plan lm_760m --machine a100 --mesh data=2,context=2");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  for (const char* text : {"4 ranks (data=2,context=2,tensor=1)", "A100 80 GB", "Newton-Schulz",
                           "window attention", "fast-weight gradients", "sum of gradients", "activations",
                           "most at once", "tokens/s", "assumptions", "data sheet"}) {
    EXPECT_THAT(outcome.out, HasSubstr(text));
  }
}

TEST(PlanVerb, PrintsJsonForPrograms) {
  const auto outcome = run_program("plan lm_760m --machine h100 --mesh context=4 --length 65536 --json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json.at("mesh").at("context"), 4);
  EXPECT_EQ(json.at("tokens"), 65536);
  double flops = 0, seconds = json.at("seconds");
  for (const auto& part : json.at("work")) flops += part.at("flops").get<double>();
  EXPECT_DOUBLE_EQ(json.at("flops").get<double>(), flops);
  EXPECT_DOUBLE_EQ(json.at("tokens_per_second").get<double>(), 65536 / seconds);
  EXPECT_TRUE(json.at("fits").is_boolean());
  EXPECT_FALSE(json.contains("suggestions"));
}

TEST(PlanVerb, SuggestsMeshes) {
  const auto text = run_program("plan lm_3b_paper --machine a100_40gb --nodes 2");
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("meshes of 16 ranks, the best first"));
  const auto outcome = run_program("plan lm_3b_paper --machine a100_40gb --ranks 16 --json");
  const Json json = Json::parse(outcome.out), best = json.at("suggestions").at(0);
  EXPECT_EQ(best.at("mesh"), json.at("mesh"));
  EXPECT_TRUE(best.at("fits"));
  EXPECT_GT(json.at("suggestions").size(), 3u);
}

TEST(PlanVerb, KnowsAllThreeModels) {
  const Json views = Json::parse(run_program("plan nvs_312m --machine a100 --pass prefill --json").out);
  EXPECT_EQ(views.at("tokens"), 48 * 64 * 64);
  const Json frame = Json::parse(run_program("plan nvs_312m --machine a100 --pass render --json").out);
  EXPECT_EQ(frame.at("tokens"), 64 * 64);
  const Json clip = Json::parse(
      run_program("plan video_1_3b --machine h100 --noise-repeats 2 --recompute blocks --json").out);
  EXPECT_EQ(clip.at("tokens"), 93600);
}

TEST(PlanVerb, MistakesAreSentences) {
  expect_mistake("plan", "name a preset");
  expect_mistake("plan lm_760m --machine a100 --mesh tensor=8", "24 attention heads, 4 memory heads");
  expect_mistake("plan lm_760m --machine a100 --mesh pipeline=2", "expected data, context or tensor");
  expect_mistake("plan lm_760m --machine a100 --mesh data=0", "expected a number from 1");
  expect_mistake("plan lm_760m --machine a100 --mesh data=2 --ranks 4", "--mesh says how many ranks");
  expect_mistake("plan lm_760m --machine a100 --ranks 8 --nodes 1", "both say how many ranks");
  expect_mistake("plan lm_760m --machine abacus", "abacus");
  expect_mistake("plan lm_760m --machine a100 --views 4", "--views means nothing for a language model");
  expect_mistake("plan nvs_312m --machine a100 --length 4", "--length means nothing");
  expect_mistake("plan nvs_312m --machine a100 --image-size 500", "does not divide into patches");
  expect_mistake("plan lm_760m --machine a100 --pass render", "nothing to render");
  expect_mistake("plan lm_760m --nodes 2", "--ranks-per-node");
}

}  // namespace
}  // namespace lact
