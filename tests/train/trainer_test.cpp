#include "lact/train/trainer.h"

#include <ATen/ATen.h>
#include <torch/nn/module.h>

#include <atomic>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>

#include "lact/base/log.h"
#include "lact/train/checkpoint.h"
#include "lact/train/ema.h"
#include "lact/train/rate_schedule.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::train {
namespace {

using lact::testing::read_file;
using lact::testing::TemporaryFolder;

/// y = x w + b on noisy lines; draws its data from LibTorch's generator, so that the random state matters.
struct Line : torch::nn::Module {
  Line() {
    weight = register_parameter("weight", at::zeros({3, 1}));
    bias = register_parameter("bias", at::zeros({1}));
  }
  at::Tensor weight, bias;
};

class LineTask : public Task {
 public:
  torch::nn::Module& model() override { return line_; }
  at::Tensor loss(int64_t batch) override {
    seen.push_back(batch);
    const at::Tensor x = at::randn({4, 3});
    at::Tensor y = x.sum(1, true) + 2;
    if (batch == nan_batch) y = y + std::nan("");
    if (batch == infinite_batch) throw NonFinite("a rate is infinite");
    if (batch == exploding_batch) y = y * 1e6;
    return (at::matmul(x, line_.weight) + line_.bias - y).square().mean();
  }
  int64_t tokens_of_batch(int64_t) const override { return 4; }
  double flops_of_batch(int64_t) const override { return 72; }
  std::map<std::string, double> validate() override {
    return {{"loss", line_.weight.sub(1).abs().sum().item<double>()}};
  }
  void export_model(const std::string& folder) override {
    std::ofstream(folder + "/exported") << line_.weight;
  }

  Line line_;
  std::vector<int64_t> seen;
  int64_t nan_batch = -1, infinite_batch = -1, exploding_batch = -1;
};

TrainOptions short_run() {
  TrainOptions options;
  options.steps = 20;
  options.rate = 0.05;
  options.warmup = 3;
  options.save_every = 4;
  options.validate_every = 10;
  options.log_every = 1;
  return options;
}

class TrainerTest : public ::testing::Test {
 protected:
  TrainerTest() {
    log::set_quiet(true);
    at::manual_seed(4);
  }
  ~TrainerTest() override { log::set_quiet(false); }
  RunOptions run(const std::string& name) const { return {.folder = folder_ / name, .title = "test"}; }
  TemporaryFolder folder_;
};

TEST_F(TrainerTest, Learns) {
  LineTask task;
  auto options = short_run();
  options.steps = 300;
  const auto result = train(task, options, run("a"));
  EXPECT_TRUE(result.finished);
  EXPECT_LT(result.validation.at("loss"), 0.1);
}

TEST_F(TrainerTest, TwentyStepsEqualTenAndTenMore) {
  for (const bool ema : {false, true}) {
    auto options = short_run();
    options.accumulate = 2;
    options.ema = ema ? 0.9 : 0;
    const std::string name = ema ? "ema" : "plain";
    at::manual_seed(4);
    LineTask whole;
    train(whole, options, run(name + "_whole"));

    at::manual_seed(4);
    LineTask first;
    auto half = run(name + "_half");
    half.stop_after = 10;
    EXPECT_FALSE(train(first, options, half).finished);
    EXPECT_EQ(first.seen.back(), 19);
    at::manual_seed(77);  // another process begins with another random state
    LineTask second;
    half.stop_after = 0;
    half.resume = true;
    EXPECT_TRUE(train(second, options, half).finished);
    EXPECT_EQ(second.seen.front(), 20);
    EXPECT_TRUE(second.line_.weight.equal(whole.line_.weight));
    EXPECT_TRUE(second.line_.bias.equal(whole.line_.bias));
    EXPECT_EQ(read_file(folder_ / (name + "_half/exported")),
              read_file(folder_ / (name + "_whole/exported")));
  }
}

/// Each batch takes a second of a clock that stands still otherwise.
struct TimedTask : LineTask {
  explicit TimedTask(double& clock) : clock(clock) {}
  at::Tensor loss(int64_t batch) override {
    clock += 1;
    return LineTask::loss(batch);
  }
  std::map<std::string, double> validate() override {
    validated.push_back(clock);
    return LineTask::validate();
  }
  double& clock;
  std::vector<double> validated;
};

TEST_F(TrainerTest, ARunEndsWithItsTimeAndItsRateFallsWithTheClock) {
  double clock = 1000;
  TimedTask task(clock);
  auto options = short_run();
  options.steps = 1'000'000;
  options.minutes = 1;
  options.warmup = 2;
  options.rate_floor = 0;
  options.rate_decay = RateDecay::linear;
  auto where = run("a");
  where.clock = [&] { return clock; };
  const auto result = train(task, options, where);
  EXPECT_TRUE(result.finished);
  EXPECT_EQ(result.step, 60);
  EXPECT_EQ(task.validated.size(), 20u) << "evenly over the time";
  EXPECT_EQ(task.validated.front(), 1003);
  EXPECT_EQ(task.validated.back(), 1060);
  std::ifstream lines(folder_ / "a/metrics.jsonl");
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line);
    const double step = json["step"].get<double>();
    EXPECT_NEAR(json["minutes"].get<double>(), step / 60, 1e-9);
    if (!json.contains("rate") || step <= 2) continue;
    EXPECT_NEAR(json["rate"].get<double>(), options.rate * (1 - (step - 1) / 60), 1e-9);
  }
}

TEST_F(TrainerTest, TheTimeOfEarlierPartsCounts) {
  double clock = 0;
  auto options = short_run();
  options.steps = 1'000'000;
  options.minutes = 1;
  auto where = run("a");
  where.clock = [&] { return clock; };
  where.stop_after = 25;
  TimedTask first(clock);
  EXPECT_FALSE(train(first, options, where).finished);
  clock += 5000;  // the night
  where.stop_after = 0;
  where.resume = true;
  TimedTask second(clock);
  const auto result = train(second, options, where);
  EXPECT_TRUE(result.finished);
  EXPECT_EQ(result.step, 60);
  EXPECT_EQ(second.seen.front(), 25);
  // A run whose time is over has nothing left to do.
  TimedTask third(clock);
  EXPECT_TRUE(train(third, options, where).finished);
  EXPECT_TRUE(third.seen.empty());
}

TEST_F(TrainerTest, MetricsAfterAResumeAreThoseOfOneRun) {
  LineTask task;
  auto options = run("a");
  options.stop_after = 10;
  train(task, short_run(), options);
  // Half a line and records of steps that were lost with a crash.
  std::ofstream(folder_ / "a/metrics.jsonl", std::ios::app) << "{\"step\": 11}\n{\"step\": 12, \"lo";
  options = {.folder = folder_ / "a", .title = "test", .resume = true};
  train(task, short_run(), options);
  std::ifstream lines(folder_ / "a/metrics.jsonl");
  std::vector<int64_t> steps;
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line);
    if (json.contains("rate")) steps.push_back(json["step"].get<int64_t>());
  }
  ASSERT_EQ(steps.size(), 20u);
  for (size_t i = 0; i < 20; ++i) EXPECT_EQ(steps[i], int64_t(i + 1));
}

TEST_F(TrainerTest, ABadBatchIsSkippedAndChangesNothing) {
  for (const int kind : {0, 1, 2}) {
    LineTask task;
    auto options = short_run();
    options.steps = 30;
    if (kind == 0) task.nan_batch = 29;
    if (kind == 1) task.infinite_batch = 29;
    if (kind == 2) task.exploding_batch = 29;
    auto where = run("run" + std::to_string(kind));
    where.stop_after = 29;
    train(task, options, where);
    const at::Tensor before = task.line_.weight.detach().clone();
    const auto saved = CheckpointFolder(where.folder + "/checkpoints", 2).newest();
    ASSERT_TRUE(saved.has_value());
    where.stop_after = 0;
    where.resume = true;
    const auto result = train(task, options, where);
    EXPECT_EQ(result.skipped, 1) << kind;
    EXPECT_TRUE(task.line_.weight.equal(before)) << kind;
    const auto after = CheckpointFolder(where.folder + "/checkpoints", 2).newest();
    EXPECT_TRUE(after->file.tensors.at("adam.mean.weight").equal(saved->file.tensors.at("adam.mean.weight")));
  }
}

// The first moment of Adam after one step is (1 - beta1) times the gradient that it was given.
TEST_F(TrainerTest, GradientsAreScaledDownToTheNormThatWasAskedFor) {
  const auto given = [&](double clip) {
    at::manual_seed(4);
    LineTask task;
    auto options = short_run();
    options.steps = 1;
    options.clip = clip;
    const auto where = run("clip" + std::to_string(clip));
    train(task, options, where);
    const auto saved = CheckpointFolder(where.folder + "/checkpoints", 2).newest();
    const auto& tensors = saved.value().file.tensors;
    return at::cat({tensors.at("adam.mean.weight").flatten(), tensors.at("adam.mean.bias")}) /
           (1 - options.adamw.beta1);
  };
  const at::Tensor whole = given(0);  // no limit
  const double norm = whole.norm().item<double>();
  ASSERT_GT(norm, 1);
  for (const double clip : {0.25, 0.9}) EXPECT_TRUE(at::allclose(given(clip), whole * (clip / norm), 1e-4));
  EXPECT_TRUE(given(norm * 1.1).equal(whole));  // a smaller one is not scaled up
}

// A step over several batches takes the mean of their gradients.
TEST_F(TrainerTest, BatchesOfAStepAreAveraged) {
  struct SameBatch : LineTask {
    at::Tensor loss(int64_t batch) override {
      at::manual_seed(4);
      return LineTask::loss(batch);
    }
  };
  const auto moment = [&](int64_t accumulate) {
    SameBatch task;
    auto options = short_run();
    options.steps = 1;
    options.clip = 0;
    options.accumulate = accumulate;
    const auto where = run("accumulate" + std::to_string(accumulate));
    const auto result = train(task, options, where);
    EXPECT_EQ(task.seen.size(), size_t(accumulate));
    return std::pair(
        CheckpointFolder(where.folder + "/checkpoints", 2).newest()->file.tensors.at("adam.mean.weight"),
        result.loss);
  };
  const auto [one, loss_of_one] = moment(1);
  const auto [three, loss_of_three] = moment(3);
  EXPECT_TRUE(at::allclose(three, one, 1e-5));
  EXPECT_NEAR(loss_of_three, loss_of_one, 1e-5 * loss_of_one);
}

TEST_F(TrainerTest, CheckpointsRotate) {
  LineTask task;
  auto options = short_run();
  options.keep = 3;
  train(task, options, run("a"));
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "a/checkpoints")) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"step-00000012.safetensors", "step-00000016.safetensors",
                                             "step-00000020.safetensors"}));
}

TEST_F(TrainerTest, ADamagedCheckpointIsPassedOver) {
  LineTask task;
  train(task, short_run(), run("a"));
  const std::string newest = folder_ / "a/checkpoints/step-00000020.safetensors";
  const std::string bytes = read_file(newest);
  lact::testing::write_file(newest, bytes.substr(0, bytes.size() / 2));
  const auto found = CheckpointFolder(folder_ / "a/checkpoints", 2).newest();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->step, 16);
}

TEST_F(TrainerTest, AFullDiskDoesNotEndTheRun) {
  LineTask task;
  // A file where the folder of checkpoints should be: nothing can be saved.
  std::filesystem::create_directories(folder_ / "a");
  lact::testing::write_file(folder_ / "a/checkpoints", "in the way");
  EXPECT_SENTENCE(train(task, short_run(), run("a")), "checkpoints: cannot be created");
  EXPECT_EQ(task.seen.size(), 20u);  // only the last save, which has no later one, is a mistake
}

TEST_F(TrainerTest, WrongOptionsAreSentences) {
  LineTask task;
  const auto with = [&](auto change) {
    auto options = short_run();
    change(options);
    train(task, options, run("a"));
  };
  EXPECT_SENTENCE(with([](auto& o) { o.steps = 0; }), "steps is 0");
  EXPECT_SENTENCE(with([](auto& o) { o.rate = -1; }), "rate is -1");
  EXPECT_SENTENCE(with([](auto& o) { o.ema = 1; }), "ema is 1");
  EXPECT_SENTENCE(with([](auto& o) { o.accumulate = 0; }), "accumulate is 0");
  constexpr auto kLargest = std::numeric_limits<int64_t>::max();
  EXPECT_SENTENCE(with([](auto& o) { o.steps = kLargest; }), "steps is 9223372036854775807");
  EXPECT_SENTENCE(with([](auto& o) { o.accumulate = kLargest; }), "accumulate is 9223372036854775807");
  EXPECT_SENTENCE(with([](auto& o) { o.warmup = kLargest; }), "warmup is 9223372036854775807");
  EXPECT_SENTENCE(with([](auto& o) { o.keep = kLargest; }), "keep is 9223372036854775807");
  EXPECT_SENTENCE(with([](auto& o) { o.log_every = 0; }), "log_every is 0");
  const double nan = std::nan(""), infinite = std::numeric_limits<double>::infinity();
  for (const double value : {nan, infinite, -1.0}) {
    EXPECT_SENTENCE(with([&](auto& o) { o.rate = value; }), "rate is");
    EXPECT_SENTENCE(with([&](auto& o) { o.rate_floor = value; }), "rate_floor is");
    EXPECT_SENTENCE(with([&](auto& o) { o.clip = value; }), "clip is");
    EXPECT_SENTENCE(with([&](auto& o) { o.skip_above = value; }), "skip_above is");
    EXPECT_SENTENCE(with([&](auto& o) { o.ema = value; }), "ema is");
    EXPECT_SENTENCE(with([&](auto& o) { o.adamw.epsilon = value; }), "epsilon is");
    EXPECT_SENTENCE(with([&](auto& o) { o.adamw.weight_decay = value; }), "weight_decay is");
    EXPECT_SENTENCE(with([&](auto& o) { o.adamw.beta1 = value; }), "beta1");
  }
  EXPECT_TRUE(task.seen.empty());
}

TEST_F(TrainerTest, AHostCanStopARunAndKeepsItsSignals) {
  LineTask task;
  auto options = run("a");
  options.stop = [&] { return task.seen.size() == 7; };
  EXPECT_EQ(train(task, short_run(), options).step, 7);
  const auto saved = CheckpointFolder(options.folder + "/checkpoints", 2).newest();
  EXPECT_EQ(saved->step, 7);

  // A handler of the host's own is not touched while a run with a stop lasts.
  static std::atomic<int> heard = 0;
  const auto note = [](int) { ++heard; };
  ASSERT_NE(std::signal(SIGTERM, note), SIG_ERR);
  options = {.folder = folder_ / "b", .stop = [&] {
               std::raise(SIGTERM);
               return task.seen.size() >= 10;
             }};
  EXPECT_EQ(train(task, short_run(), options).step, 3);
  EXPECT_EQ(heard, 4);
  // Without one it is put back afterwards.
  train(task, short_run(), run("c"));
  EXPECT_EQ(std::signal(SIGTERM, SIG_DFL), static_cast<void (*)(int)>(note));
}

TEST_F(TrainerTest, ADamagedRandomStateIsOneSentence) {
  LineTask task;
  train(task, short_run(), run("a"));
  const CheckpointFolder folder(folder_ / "a/checkpoints", 1);
  const auto resume_with = [&](const std::string& name, const at::Tensor& tensor) {
    auto changed = folder.newest()->file;
    changed.tensors[name] = tensor;
    folder.save(20, changed);
    auto options = run("a");
    options.resume = true;
    train(task, short_run(), options);
  };
  const at::Tensor random = folder.newest()->file.tensors.at("random").clone();
  EXPECT_SENTENCE(resume_with("random", at::full_like(random, 255)),
                  "step-00000020.safetensors: tensor random is damaged");
  EXPECT_SENTENCE(resume_with("random", at::zeros({3}, at::kByte)), "tensor random has shape");
  resume_with("random", random);
  EXPECT_SENTENCE(resume_with("adam.steps", at::full({1}, -1, at::kLong)), "adam.steps is -1");
  resume_with("adam.steps", at::full({1}, 20, at::kLong));
  EXPECT_SENTENCE(resume_with("gradient_norms", at::full({3}, std::nan(""), at::kDouble)), "gradient_norms");
}

TEST_F(TrainerTest, RecordsWithoutAStepDoNoHarm) {
  LineTask task;
  auto options = run("a");
  options.stop_after = 10;
  train(task, short_run(), options);
  std::ofstream(folder_ / "a/metrics.jsonl", std::ios::app) << "{\"step\": \"x\"}\n{\"loss\": 1}\n[1]\n";
  options.stop_after = 0;
  options.resume = true;
  EXPECT_TRUE(train(task, short_run(), options).finished);
  EXPECT_THAT(read_file(folder_ / "a/metrics.jsonl"), ::testing::HasSubstr("\n{\"step\":20,"));
}

TEST(RateScheduleTest, RisesAndFallsToTheFloor) {
  const RateSchedule schedule = {.peak = 2, .floor = 0.1, .warmup = 4, .steps = 100};
  EXPECT_DOUBLE_EQ(schedule.at(0), 0.5);
  EXPECT_DOUBLE_EQ(schedule.at(3), 2);
  EXPECT_DOUBLE_EQ(schedule.at(4), 2);
  EXPECT_NEAR(schedule.at(52), 1.1, 1e-9);
  EXPECT_NEAR(schedule.at(100), 0.2, 1e-9);
}

TEST(RateScheduleTest, FallsAlongALineOrStays) {
  RateSchedule schedule = {.peak = 2, .floor = 0, .warmup = 4, .steps = 104, .decay = RateDecay::linear};
  EXPECT_DOUBLE_EQ(schedule.at(0), 0.5);
  EXPECT_DOUBLE_EQ(schedule.at(4), 2);
  EXPECT_DOUBLE_EQ(schedule.at(29), 1.5);
  EXPECT_NEAR(schedule.at(103), 0.02, 1e-12);
  schedule.floor = 0.5;
  EXPECT_DOUBLE_EQ(schedule.at(54), 1.5);
  schedule.decay = RateDecay::constant;
  EXPECT_DOUBLE_EQ(schedule.at(1), 1);
  EXPECT_DOUBLE_EQ(schedule.at(54), 2);
}

TEST_F(TrainerTest, TheRateThatIsTakenIsThatOfTheSchedule) {
  LineTask task;
  auto options = short_run();
  options.rate_decay = RateDecay::linear;
  options.rate_floor = 0;
  train(task, options, run("a"));
  std::ifstream lines(folder_ / "a/metrics.jsonl");
  std::map<int64_t, double> rates;
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line);
    if (json.contains("rate")) rates[json["step"].get<int64_t>()] = json["rate"].get<double>();
  }
  EXPECT_DOUBLE_EQ(rates.at(4), 0.05);
  EXPECT_NEAR(rates.at(20), 0.05 / 17, 1e-12);
}

TEST(AdamWTest, DecaysMatricesAndNotVectors) {
  Line line;
  {
    at::NoGradGuard no_grad;
    line.weight.fill_(1);
    line.bias.fill_(1);
  }
  Optimizer optimizer(line, {.adamw = {.weight_decay = 0.5}});
  line.weight.mutable_grad() = at::zeros_like(line.weight);
  line.bias.mutable_grad() = at::zeros_like(line.bias);
  optimizer.step(0.1);
  EXPECT_NEAR(line.weight[0].item<double>(), 0.95, 1e-6);
  EXPECT_NEAR(line.bias[0].item<double>(), 1, 1e-6);
}

TEST(AdamWTest, FirstStepIsTheSignOfTheGradient) {
  Line line;
  Optimizer optimizer(line, {.adamw = {.weight_decay = 0}});
  line.weight.mutable_grad() = at::tensor({3.0f, -0.01f, 0.0f}).unsqueeze(1);
  line.bias.mutable_grad() = at::zeros({1});
  EXPECT_NEAR(optimizer.gradient_norm(), std::sqrt(9.0001), 1e-5);
  optimizer.step(0.1);
  EXPECT_NEAR(line.weight[0].item<double>(), -0.1, 1e-4);
  EXPECT_NEAR(line.weight[1].item<double>(), 0.1, 1e-4);
  EXPECT_NEAR(line.weight[2].item<double>(), 0, 1e-4);
}

TEST(EmaTest, FollowsAndSwaps) {
  Line line;
  Ema ema(line, 0.75);
  {
    at::NoGradGuard no_grad;
    line.weight.fill_(4);
  }
  ema.update();
  ema.swap();
  EXPECT_NEAR(line.weight[0].item<double>(), 1, 1e-6);
  ema.swap();
  EXPECT_NEAR(line.weight[0].item<double>(), 4, 1e-6);
}

}  // namespace
}  // namespace lact::train
