// The rules that every benchmark obeys.
#include "lact/bench/session.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include <cmath>
#include <limits>
#include <thread>

#include "lact/base/error.h"
#include "lact/bench/lm_problem.h"
#include "lact/bench/ttt_problem.h"
#include "lact/bench/work.h"
#include "lact/ops/dispatch/paths.h"

namespace lact::bench {
namespace {

BenchOptions without_peers() {
  BenchOptions options;
  options.quick = true;
  options.peers = false;
  options.race.repeats = 2;
  return options;
}

Trial trial_with_error(double error, int& runs) {
  Trial trial;
  trial.row = {"area", "shape", "rule", "forward", "f32"};
  trial.error = [error] { return error; };
  trial.tolerance = 0.1;
  trial.run = [&runs] { ++runs; };
  trial.work = 1;
  trial.limit = 1;
  trial.memory = true;
  return trial;
}

TEST(BenchSession, AWrongAnswerPrintsNoSpeed) {
  for (const double error : {0.2, std::nan(""), std::numeric_limits<double>::infinity()}) {
    Session session(without_peers());
    int runs = 0;
    const Result row = session.measure(trial_with_error(error, runs));
    EXPECT_TRUE(row.wrong);
    EXPECT_TRUE(session.any_wrong());
    EXPECT_EQ(runs, 0) << "a wrong contender was timed";
    const auto json = to_json(row);
    for (const char* figure : {"seconds", "share_of_peak", "vs_pytorch_bf16", "extra_memory_mb"}) {
      EXPECT_TRUE(json.at(figure).is_null()) << figure;
    }
    EXPECT_THAT(table(session.results()), ::testing::HasSubstr("WRONG"));
  }
}

TEST(BenchSession, ARightAnswerIsTimedOnTheFusedPath) {
  Session session(without_peers());
  int runs = 0;
  Trial trial = trial_with_error(0.05, runs);
  std::vector<bool> paths;
  trial.run = [&] { paths.push_back(ops::fused_paths()), ++runs; };
  trial.reference = [&] { paths.push_back(ops::fused_paths()); };
  const Result row = session.measure(trial);
  EXPECT_FALSE(row.wrong);
  EXPECT_EQ(runs, 4);  // one to warm up, two that count, one for the memory
  EXPECT_THAT(paths, ::testing::ElementsAre(true, false, true, false, true, false, true));
  EXPECT_TRUE(row.seconds && row.median_seconds && row.vs_reference && row.share_of_peak &&
              row.extra_memory_mb);
  EXPECT_FALSE(row.vs_pytorch_bf16 || row.vs_pytorch_f32 || row.memory_vs_pytorch);
  EXPECT_TRUE(ops::fused_paths());
}

TEST(BenchSession, AnErrorThatRoundingExplainsIsAllowed) {
  Session session(without_peers());
  int runs = 0;
  Trial trial = trial_with_error(0.2, runs);
  const auto with = [&](double plain, double in_float32) {
    trial.rounding =
        GrowingRounding{[=] { return plain; }, {{"in float32", [=] { return in_float32; }, 1e-2}}};
    return session.measure(trial);
  };
  EXPECT_FALSE(with(0.15, 1e-5).wrong);
  EXPECT_THAT(with(0.15, 1e-5).note, ::testing::HasSubstr("the plain form's is 0.15, in float32 1.0e-05"));
  EXPECT_TRUE(with(0.12, 1e-5).wrong);
}

TEST(BenchSession, WhereThePlainFormIsNothingButRoundingOtherChecksDecide) {
  Session session(without_peers());
  int runs = 0;
  const auto wrong = [&](double error, std::vector<Check> checks) {
    Trial trial = trial_with_error(error, runs);
    trial.rounding = GrowingRounding{[] { return 1.2; }, std::move(checks)};
    return session.measure(trial).wrong;
  };
  const Check right{"in float32", [] { return 1e-4; }, 1e-2};
  EXPECT_FALSE(wrong(1.4, {right}));
  EXPECT_TRUE(wrong(1.4, {right, {"of two chunks", [] { return 0.2; }, 0.15}}));
  EXPECT_TRUE(wrong(1.4, {}));
  EXPECT_TRUE(wrong(1.9, {right}));
  EXPECT_TRUE(wrong(std::nan(""), {right}));
}

TEST(BenchSession, RoundingExplainsNothingIfTheSameComputationIsWrongWithoutIt) {
  Session session(without_peers());
  int runs = 0;
  Trial trial = trial_with_error(0.8, runs);
  const auto wrong = [&](double in_float32, double of_two_chunks) {
    trial.rounding = GrowingRounding{[] { return 0.7; },
                                     {{"in float32", [=] { return in_float32; }, 1e-2},
                                      {"of two chunks", [=] { return of_two_chunks; }, 0.15}}};
    return session.measure(trial).wrong;
  };
  EXPECT_FALSE(wrong(1e-4, 0.05));
  EXPECT_TRUE(wrong(0.02, 0.05));
  EXPECT_TRUE(wrong(1e-4, 0.2));
  EXPECT_TRUE(wrong(std::nan(""), 0.05));
  // An answer of zeros.
  trial.error = [] { return 1.0; };
  EXPECT_TRUE(wrong(1e-4, 0.05));
}

TEST(BenchTtt, LongMuonSchedulesAreCheckedWhereRoundingDoesNotGrow) {
  const TttShape shape = {1, 2048, 512, 32, 32, true, true};
  const TttProblem problem(shape, at::kBFloat16);
  TttCheck check(problem, shape);
  EXPECT_LT(check.error_in_float32(true, false), ttt_tolerance(shape, at::kFloat));
  EXPECT_LT(check.error_of_first_chunk(false, false), ttt_tolerance(shape, at::kBFloat16));
  EXPECT_EQ(ttt_rounding(check, shape, at::kBFloat16, true, false)->checks.size(), 2u);
  EXPECT_FALSE(ttt_rounding(check, shape, at::kFloat, true, false).has_value());
}

TEST(BenchSession, ErrorsSeeNanAndShapes) {
  const at::Tensor x = at::ones({2, 3});
  EXPECT_EQ(largest_error({x}, {x}), 0);
  EXPECT_DOUBLE_EQ(largest_error({x * 1.5}, {x}), 0.5);
  EXPECT_DOUBLE_EQ(norm_error({x * 1.5}, {x}), 0.5);
  at::Tensor broken = x.clone();
  broken[0][0] = std::nan("");
  EXPECT_TRUE(std::isinf(largest_error({broken}, {x})));
  EXPECT_TRUE(std::isinf(norm_error({broken}, {x})));
  EXPECT_TRUE(std::isinf(largest_error({x.t()}, {x})));
}

TEST(BenchRace, ContendersTakeTurnsAndTheFirstRoundDoesNotCount) {
  std::string order;
  double time = 8;
  const std::vector<Contender> contenders = {{"a", [&] { return order += 'a', time /= 2; }, "ours"},
                                             {"b", [&] { return order += 'b', 7.0; }, "theirs"},
                                             {"gone", [&] { return order += 'x', std::nan(""); }, "theirs"}};
  const auto times = race(contenders, {.repeats = 2, .budget = 1000});
  EXPECT_EQ(order, "abxabab");
  EXPECT_EQ(times[0].runs, 2);
  EXPECT_DOUBLE_EQ(*times[0].best, 1);  // 4 was to warm up; 2 and 1 count
  EXPECT_FALSE(times[2].best.has_value());
  EXPECT_DOUBLE_EQ(*best_of(contenders, times, "theirs"), 7);
  EXPECT_FALSE(best_of(contenders, times, "no one").has_value());
}

TEST(BenchRace, TheBestOfAGroupIsItsFastestForm) {
  const std::vector<Contender> contenders = {{"a", [] { return 3.0; }, "pytorch"},
                                             {"b", [] { return 2.9; }, "pytorch"},
                                             {"c", [] { return 1.0; }, "ours"}};
  const auto times = race(contenders, {.repeats = 1, .budget = 1000});
  EXPECT_DOUBLE_EQ(*best_of(contenders, times, "pytorch"), 2.9);
}

TEST(BenchSession, PathsAreAsBeforeWhateverHappens) {
  with_paths(false, [] { EXPECT_FALSE(ops::fused_paths()); });
  EXPECT_TRUE(ops::fused_paths());
  EXPECT_THROW(with_paths(false, [] { throw Error("no"); }), Error);
  EXPECT_TRUE(ops::fused_paths());
}

TEST(BenchSession, TimesAreThoseOfOneOfManyRuns) {
  Session session(without_peers());
  int runs = 0;
  Trial trial = trial_with_error(0, runs);
  trial.memory = false;
  trial.run = [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
  trial.count = 10;
  const Result row = session.measure(trial);
  EXPECT_GE(*row.seconds, 0.0019);
  EXPECT_LT(*row.seconds, 0.015);
  EXPECT_GE(*row.median_seconds, *row.seconds);
}

TEST(BenchRace, ABudgetAndSlowFormsEndEarly) {
  int slow_form = 0, long_one = 0;
  const std::vector<Contender> contenders = {{"fast form", [] { return 1.0; }, "pytorch"},
                                             {"slow form", [&] { return ++slow_form, 2.0; }, "pytorch"},
                                             {"long", [&] { return ++long_one, 100.0; }, ""}};
  const auto times = race(contenders, {.repeats = 5, .budget = 50});
  EXPECT_EQ(slow_form, 2);
  EXPECT_EQ(long_one, 1);
  EXPECT_DOUBLE_EQ(*times[2].best, 100);
}

// The last chunk is read and never written, also where it is a whole one.
TEST(BenchWork, TheLastChunkIsNotWritten) {
  models::LmConfig config = quick_lm().config;
  const int64_t chunk = config.chunk_size;
  const double one = lm_work(config, chunk).at("fast weights"),
               two = lm_work(config, 2 * chunk).at("fast weights");
  EXPECT_GT(two, 2.5 * one);  // one chunk is only read; the first of two is written as well
  EXPECT_DOUBLE_EQ(lm_work(config, chunk / 2).at("fast weights"), one / 2);
}

TEST(BenchWork, CountsWhatIsExecuted) {
  EXPECT_DOUBLE_EQ(window_pairs(4, 2), 7);
  EXPECT_DOUBLE_EQ(window_pairs(4, 100), 10);
  EXPECT_DOUBLE_EQ(attention_work(4, 2, 3, 5, Pass::forward), 4 * 7 * 15);
  EXPECT_DOUBLE_EQ(attention_work(4, 2, 3, 5, Pass::forward_backward), 14 * 7 * 15);
  const TttShape gd = {2, 100, 100, 8, 16}, muon = {2, 100, 50, 8, 16, false, true};
  EXPECT_DOUBLE_EQ(ttt_work(gd, Pass::forward, false), 18 * 8 * 16 * 200);
  EXPECT_DOUBLE_EQ(ttt_work(gd, Pass::forward_backward, true), (54 + 10) * 8 * 16 * 200);
  const double step = 3 * 8 * 8 * 16 + 8 * 8 * 8;
  EXPECT_DOUBLE_EQ(ttt_work(muon, Pass::forward, false), 18 * 8 * 16 * 200 + 2 * 2 * 3 * 5 * step);
  const TttShape linear = {2, 100, 50, 8, 8, false, true, 5, "linear"};
  EXPECT_DOUBLE_EQ(ttt_token_work(linear, Pass::forward), 4 * 8 * 8 * 200);
  EXPECT_DOUBLE_EQ(ttt_work(linear, Pass::forward, false) - ttt_token_work(linear, Pass::forward),
                   2 * 2 * 5 * (4 * 8 * 8 * 8));
  const TttShape mlp = {2, 100, 16, 8, 32, false, false, 5, "ttt_mlp"};
  EXPECT_DOUBLE_EQ(ttt_token_work(mlp, Pass::forward_backward), 3 * 14 * 8 * 32 * 200);
}

}  // namespace
}  // namespace lact::bench
