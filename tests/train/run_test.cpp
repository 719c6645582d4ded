// Runs of a task that takes no time: how they begin, end early and go on.
#include "lact/train/run.h"

#include <ATen/ATen.h>
#include <torch/nn/module.h>

#include <filesystem>

#include "lact/base/log.h"
#include "lact/train/checkpoint.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::train {
namespace {

namespace fs = std::filesystem;
using lact::testing::read_file;
using lact::testing::TemporaryFolder;
using lact::testing::write_file;

struct Point : torch::nn::Module {
  explicit Point(double value) { place = register_parameter("place", at::full({2}, value)); }
  at::Tensor place;
};

/// Walks to 0; a model file holds the place.
class PointTask : public Task {
 public:
  explicit PointTask(double begin) : point_(begin) {}
  torch::nn::Module& model() override { return point_; }
  at::Tensor loss(int64_t) override { return point_.place.square().sum(); }
  int64_t tokens_of_batch(int64_t) const override { return 1; }
  double flops_of_batch(int64_t) const override { return 1; }
  void export_fixed_parts(const std::string& folder) override { write_file(folder + "/config", "point"); }
  void export_model(const std::string& folder) override {
    write_file(folder + "/model", std::to_string(point_.place[0].item<double>()));
  }
  Point point_;
};

struct PointRun {
  TrainOptions training;
  std::string initial_model;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("training", training, "");
    field("initial_model", initial_model, "");
  }
  void check() const { training.check(); }
  void make_paths_absolute() {}
  void use_copies_in(const std::string&) {}
  std::shared_ptr<Task> make_task(const std::string&, const std::string& initial) const {
    return std::make_shared<PointTask>(initial.empty() ? 1 : std::stod(read_file(initial + "/model")));
  }
  Plan plan() const {
    Plan plan;
    plan.parameters = 2;
    plan.shape = "one point";
    plan.add("stage 1", "all of it");
    plan.work = 3e9;
    return plan;
  }
};

class RunTest : public ::testing::Test {
 protected:
  RunTest() {
    log::set_quiet(true);
    fs::create_directories(folder_ / "far");
    write_file(folder_ / "far/model", "50");
  }
  ~RunTest() override { log::set_quiet(false); }

  PointRun short_run() const {
    PointRun run;
    run.training.steps = 6;
    run.training.rate = 1e-3;
    run.training.save_every = 4;
    run.training.keep = 5;
    return run;
  }
  PointRun from_far() const {
    PointRun run = short_run();
    run.initial_model = folder_ / "far";
    return run;
  }
  /// Ended before its first step.
  void start_and_stop(const PointRun& run) const {
    EXPECT_FALSE(start_run(run, {.folder = folder_ / "run", .stop = [] { return true; }}).finished);
  }
  TrainResult resume(bool from_start = false) const {
    return resume_run<PointRun>({.folder = folder_ / "run", .from_start = from_start});
  }
  double place() const { return std::stod(read_file(folder_ / "run/model")); }
  std::vector<std::string> checkpoints() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_ / "run/checkpoints"))
      names.push_back(entry.path().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  void damage_checkpoints() const {
    for (const auto& file : checkpoints()) write_file(file, read_file(file).substr(0, 100));
  }

  TemporaryFolder folder_;
};

TEST_F(RunTest, LeavesItsSettingsAndItsModel) {
  EXPECT_TRUE(start_run(from_far(), {.folder = folder_ / "run"}).finished);
  EXPECT_EQ(read_file(folder_ / "run/config"), "point");
  EXPECT_NEAR(place(), 50, 0.1);
  const auto run = read_run<PointRun>(folder_ / "run");
  EXPECT_EQ(run.initial_model, folder_ / "far");
  EXPECT_EQ(run.training, from_far().training);
  EXPECT_SENTENCE(start_run(short_run(), {.folder = folder_ / "run"}), "holds a run already");
  EXPECT_SENTENCE(resume_run<PointRun>({.folder = folder_ / "none"}), "holds no run to resume");
  EXPECT_FALSE(fs::exists(folder_ / "none"));
}

TEST_F(RunTest, InitialWeightsAreSavedBeforeTheFirstStep) {
  start_run(from_far(), {.folder = folder_ / "run", .stop_after = 1});
  EXPECT_TRUE(fs::exists(folder_ / "run/checkpoints/step-00000000.safetensors"));
  // Killed at step 1, before that was saved; the model that it began with has changed since.
  fs::remove(folder_ / "run/checkpoints/step-00000001.safetensors");
  write_file(folder_ / "far/model", "-7");
  EXPECT_TRUE(resume().finished);
  EXPECT_NEAR(place(), 50, 0.1);
}

TEST_F(RunTest, InitialWeightsThatAreNowhereAreAnError) {
  start_and_stop(from_far());
  fs::remove_all(folder_ / "run/checkpoints");
  EXPECT_SENTENCE(resume(), "the run began with the weights of another model, and no checkpoint holds them");
  EXPECT_TRUE(resume(/*from_start=*/true).finished);
  EXPECT_NEAR(place(), 50, 0.1);
}

TEST_F(RunTest, ARunOfRandomWeightsWithoutACheckpointBeginsAgain) {
  start_and_stop(short_run());
  fs::remove_all(folder_ / "run/checkpoints");
  EXPECT_TRUE(resume().finished);
  EXPECT_NEAR(place(), 1, 0.1);
}

TEST_F(RunTest, DamagedCheckpointsAreAnErrorThatNamesThem) {
  for (const bool far : {false, true}) {
    fs::remove_all(folder_ / "run");
    start_run(far ? from_far() : short_run(), {.folder = folder_ / "run", .stop_after = 5});
    damage_checkpoints();
    const auto files = checkpoints();
    ASSERT_GE(files.size(), 2u);
    for (const auto& file : files) EXPECT_SENTENCE(resume(), file);
    EXPECT_SENTENCE(resume(), "--from-start");
    EXPECT_EQ(checkpoints(), files);
    EXPECT_TRUE(resume(/*from_start=*/true).finished);
    EXPECT_NEAR(place(), far ? 50 : 1, 0.1);
    // They are kept beside the new ones, and no longer counted among them.
    for (const auto& file : files) EXPECT_TRUE(fs::exists(file + ".damaged")) << file;
    const auto newest = CheckpointFolder(folder_ / "run/checkpoints", 1).search();
    EXPECT_EQ(newest.newest->step, 6);
    EXPECT_TRUE(newest.damaged.empty());
  }
}

TEST_F(RunTest, FromStartChangesNothingWhereACheckpointCanBeRead) {
  start_run(from_far(), {.folder = folder_ / "run", .stop_after = 5});
  write_file(folder_ / "far/model", "-7");
  EXPECT_TRUE(resume(/*from_start=*/true).finished);
  EXPECT_NEAR(place(), 50, 0.1);
}

TEST_F(RunTest, TwoCannotTrainInOneFolder) {
  start_run(short_run(), {.folder = folder_ / "run", .stop_after = 5});
  const std::string metrics = read_file(folder_ / "run/metrics.jsonl");
  const RunLock lock(folder_ / "run");
  EXPECT_SENTENCE(resume(), "another process trains in this folder");
  fs::remove(folder_ / "run/run.json");
  EXPECT_SENTENCE(start_run(short_run(), {.folder = folder_ / "run"}),
                  "another process trains in this folder");
  EXPECT_FALSE(fs::exists(folder_ / "run/run.json"));
  EXPECT_EQ(read_file(folder_ / "run/metrics.jsonl"), metrics);
}

TEST_F(RunTest, AFolderThatCannotWorkIsNotMade) {
  PointRun run = short_run();
  run.initial_model = folder_ / "far";
  run.training.adamw.epsilon = -1;
  EXPECT_SENTENCE(start_run(run, {.folder = folder_ / "run"}), "epsilon is -1");
  EXPECT_FALSE(fs::exists(folder_ / "run"));
}

TEST_F(RunTest, APlanHasTheLinesOfAllTasksAndOfThisOne) {
  const std::string text = plan_text(short_run());
  for (const char* part : {"model     2 parameters, one point\n", "stage 1   all of it\n",
                           "work      3.0 B operations in all\n", "speed ", "assumed: 30%", "time "})
    EXPECT_THAT(text, ::testing::HasSubstr(part));
  Plan measured = short_run().plan();
  measured.unit = "token";
  measured.units = 3e6;
  measured.measured_speed = 1e5;
  EXPECT_THAT(plan_text(measured), ::testing::HasSubstr("1.0 k operations per token, 3.0 B in all"));
  EXPECT_THAT(plan_text(measured), ::testing::HasSubstr("100.0 k tokens/s, measured"));
  EXPECT_THAT(plan_text(measured), ::testing::HasSubstr("about 30 s"));
}

}  // namespace
}  // namespace lact::train
