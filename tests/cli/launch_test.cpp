// `lact launch` as a user runs it. What becomes of ranks that misbehave is in
// tests/parallel/launcher_test.cpp.
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

#include "lact/cli/launched_command.h"
#include "support/program.h"

namespace lact::cli {
namespace {

using lact::testing::expect_mistake;
using lact::testing::interrupt_program;
using lact::testing::read_file;
using lact::testing::run_program;
using lact::testing::TemporaryFolder;
using lact::testing::write_file;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kTinyTraining =
    "--threads 1 lm train --config lm_recall --set window_size=32 --set model_dim=16 --set "
    "layer.attention.num_heads=2 --set feed_forward.hidden_dim=16 --batch 2 --length 48 --warmup 2 ";

class LaunchProgram : public ::testing::Test {
 protected:
  std::string quoted(const std::string& name) const { return "'" + folder_ / name + "'"; }
  TemporaryFolder folder_;
};

TEST_F(LaunchProgram, EveryRankRunsTheCommandWithItsShareOfTheCores) {
  const auto outcome =
      run_program("launch -n 3 --log-folder " + quoted("logs") + " -- --version", "env -u OMP_NUM_THREADS");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("lact " LACT_VERSION));
  EXPECT_EQ(outcome.out.find("LibTorch"), outcome.out.rfind("LibTorch")) << "rank 0 alone prints";
  EXPECT_THAT(outcome.err, HasSubstr("the output of ranks 1 to 2 goes to " + folder_ / "logs"));
  EXPECT_EQ(read_file(folder_ / "logs/rank_1.log"), outcome.out);
  EXPECT_EQ(read_file(folder_ / "logs/rank_2.log"), outcome.out);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "logs/rank_0.log"));
  const auto two = run_program("launch -n 2 -q --threads-per-rank 2 -- --version");
  EXPECT_THAT(two.out, HasSubstr("threads: 2\n"));
  EXPECT_EQ(two.err, "");
}

TEST_F(LaunchProgram, WordsReachTheCommandAsTheyStand) {
  const auto outcome = run_program("launch -n 1 -- info '[a,b]'");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("[a,b]"));
}

TEST_F(LaunchProgram, HelpOfTheCommandIsPrintedOnce) {
  const auto launched = run_program("launch -n 2 -- lm train --help");
  EXPECT_EQ(launched.exit_code, 0);
  EXPECT_EQ(launched.out, run_program("lm train --help").out);
}

std::string refusal_of(std::vector<std::string> words) {
  return lact::testing::sentence_of<std::exception>([&] { LaunchedCommand command(std::move(words)); });
}

TEST_F(LaunchProgram, TheCommandIsCheckedBeforeAnythingIsStarted) {
  EXPECT_THAT(refusal_of({}), HasSubstr("nothing stands after --"));
  EXPECT_THAT(refusal_of({"nonsense"}), HasSubstr("nonsense"));
  EXPECT_THAT(refusal_of({"lm", "nonsense"}), HasSubstr("nonsense"));
  EXPECT_THAT(refusal_of({"lm", "train", "--nonsense"}), HasSubstr("--nonsense"));
  EXPECT_THAT(refusal_of({"lm", "train", "--steps", "many"}), HasSubstr("\"many\" is not a whole number"));
  EXPECT_THAT(refusal_of({"lm"}), HasSubstr("\"lm\" names no verb"));
  EXPECT_THAT(refusal_of({"launch", "-n", "2", "--", "--version"}), HasSubstr("is launch itself"));
  EXPECT_EQ(refusal_of({"--version"}), "");
  EXPECT_EQ(refusal_of({"info", "lm_tiny", "--json"}), "");
}

TEST_F(LaunchProgram, ATrainingIsStartedAgainWithWhatGoesWithResume) {
  const std::string run = folder_ / "run";
  const std::vector<std::string> words = {"lm",           "train", "-q", "--steps", "9",
                                          "--stop-after", "5",     "-o", run,       "--threads=1"};
  const LaunchedCommand command(words);
  EXPECT_EQ(command.words_again(), words) << "there is no run yet";
  std::filesystem::create_directory(run);
  write_file(run + "/run.json", "{}");
  EXPECT_THAT(command.words_again(),
              ::testing::ElementsAre("--threads=1", "--quiet", "lm", "train", "--resume=" + run,
                                     "--from-start", "--stop-after=5"));
  const std::vector<std::string> resumed = {"lm", "train", "--resume", run};
  EXPECT_EQ(LaunchedCommand(resumed).words_again(), resumed);
  const std::vector<std::string> other = {"info", "lm_tiny"};
  EXPECT_EQ(LaunchedCommand(other).words_again(), other);
}

TEST_F(LaunchProgram, MistakesAreOneSentence) {
  const std::string logs = " --log-folder " + quoted("logs") + " ";
  expect_mistake("launch -n 0 -- --version", "--processes: 0 is out of range, expected 1 to");
  expect_mistake("launch -n 2" + logs + "--", "nothing stands after --");
  expect_mistake("launch -n 2" + logs + "-- lm nonsense", "nonsense");
  expect_mistake("launch -n 2" + logs + "info lm_tiny", "the command stands after --");
  expect_mistake("--threads 1 launch -n 2" + logs + "-- --version", "--threads belongs to the command");
  expect_mistake("launch -n 2 --threads-per-rank 1" + logs + "-- --version --threads 1", "twice");
  expect_mistake("launch -n 2 --nodes 2" + logs + "-- --version", "needs --address and --port");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "logs"));
  write_file(folder_ / "file", "");
  expect_mistake("launch -n 2 --log-folder " + quoted("file") + " -- --version", "file is not a folder");
  EXPECT_THAT(run_program("launch -n 2 -- --version", "LACT_RESTART=0").err,
              HasSubstr("was itself started by lact launch"));
}

TEST_F(LaunchProgram, AMistakeThatTheRanksFindIsOfExitCodeTwoAndNotTriedAgain) {
  const auto outcome =
      run_program("launch -n 2 --restarts 3 --log-folder " + quoted("logs") + " -- info lm_tinyy");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, ContainsRegex("rank [01] ended with exit code 2"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("again")));
  EXPECT_THAT(read_file(folder_ / "logs/rank_1.log"), HasSubstr("there is no preset lm_tinyy"));
}

TEST_F(LaunchProgram, InterruptedTrainingStopsCleanly) {
  const auto outcome = interrupt_program(
      "launch -n 1 --restarts 3 -- " + kTinyTraining + "--steps 100000 --save-every 5 -o " + quoted("run"),
      "ls " + quoted("run/checkpoints") + "/* >/dev/null 2>&1");
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("go on with: lact lm train --resume"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("error"))) << "a stop that was asked for is no failure";
}

/// Runs the command and kills its rank 0, twice, as soon as a condition of the shell holds that knows the
/// number of the process as $rank, and of the kill as $kill.
std::string kill_twice(const TemporaryFolder& folder, const std::string& arguments,
                       const std::string& condition) {
  write_file(folder / "run.sh", "'" + lact::testing::program_file() + "' " + arguments + " 2>'" +
                                    folder / "err" + "' >'" + folder / "out" +
                                    "' & launcher=$!\n"
                                    "for kill in 1 2; do\n"
                                    "  until rank=$(pgrep -P $launcher) && " +
                                    condition +
                                    "; do kill -0 $launcher || exit; sleep 0.02; done\n"
                                    "  kill -9 $rank; while kill -0 $rank 2>/dev/null; do sleep 0.02; done\n"
                                    "done\n"
                                    "wait $launcher; echo $? > '" +
                                    folder / "code" + "'\n");
  std::ignore = std::system(("timeout 120 bash '" + folder / "run.sh" + "' 2>/dev/null").c_str());
  return read_file(folder / "err");
}

TEST_F(LaunchProgram, ATrainingThatIsKilledGoesOnFromItsCheckpoint) {
  const std::string steps = "--steps 400 --save-every 50 ";
  const auto whole = run_program(kTinyTraining + steps + "-o " + quoted("whole"));
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const std::string messages =
      kill_twice(folder_, "launch -n 1 --restarts 2 -- " + kTinyTraining + steps + "-o " + quoted("killed"),
                 "[ $(ls " + quoted("killed/checkpoints") + " 2>/dev/null | wc -l) -ge $kill ]");
  EXPECT_EQ(read_file(folder_ / "code"), "0\n") << messages;
  EXPECT_THAT(messages, HasSubstr("rank 0 was killed by signal 9 (Killed)"));
  EXPECT_THAT(messages, HasSubstr("starting all ranks again, 2 of 2 times"));
  EXPECT_EQ(read_file(folder_ / "killed/model.safetensors"), read_file(folder_ / "whole/model.safetensors"));
  EXPECT_GT(read_file(folder_ / "whole/model.safetensors").size(), 1000U);
}

TEST_F(LaunchProgram, ATrainingThatIsKilledBeforeItsFirstCheckpointBeginsAgain) {
  const std::string messages =
      kill_twice(folder_,
                 "launch -n 1 --restarts 2 -- " + kTinyTraining +
                     "--steps 30 --save-every 1000 --stop-after 20 -o " + quoted("run"),
                 // The first time at once, the second time when the run has a folder.
                 "{ [ $kill = 1 ] || [ -e " + quoted("run/run.json") + " ]; }");
  EXPECT_EQ(read_file(folder_ / "code"), "130\n") << messages;
  EXPECT_THAT(messages, HasSubstr("stopped after step 20")) << "--stop-after goes with --resume";
}

}  // namespace
}  // namespace lact::cli
