// Commands that several processes run together, as a user or a launcher starts them: what becomes of ranks
// that die, hang or do not belong together. Nothing waits longer than --timeout.
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

#include "lact/io/safetensors.h"
#include "lact/parallel/launcher.h"
#include "lact/parallel/world.h"
#include "support/program.h"

namespace lact::cli {
namespace {

using lact::testing::expect_mistake;
using lact::testing::Outcome;
using lact::testing::read_file;
using lact::testing::run_program;
using lact::testing::TemporaryFolder;
using lact::testing::write_file;
using ::testing::AnyOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kTinyRun =
    "--threads 1 lm train --config lm_recall --set window_size=32 --set model_dim=16 --set "
    "layer.attention.num_heads=2 --set feed_forward.hidden_dim=16 --batch 2 --length 48 --warmup 2 ";
const std::string kEndless = kTinyRun + "--steps 1000000 --save-every 5 --timeout 5 ";

class Ranks : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!parallel::can_join()) GTEST_SKIP() << "this build joins no ranks";
  }

  std::string quoted(const std::string& name) const { return "'" + folder_ / name + "'"; }

  /// Runs a script of the shell for at most a minute; `lact` in it is the program.
  int run_script(const std::string& script) const {
    write_file(folder_ / "script.sh", "lact() { '" + lact::testing::program_file() + "' \"$@\"; }\n" +
                                          "cd '" + folder_ / "" + "'\n" + script);
    const int status = std::system(("timeout 60 bash '" + folder_ / "script.sh" + "'").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  /// Starts ranks without a launcher, each with its own words; runs `meanwhile`, which knows their processes
  /// as $rank0, $rank1, ...; then waits for all of them.
  std::vector<Outcome> by_hand(const std::vector<std::string>& commands, const std::string& meanwhile = "") {
    std::string script =
        fmt::format("export WORLD_SIZE={} LOCAL_WORLD_SIZE={} MASTER_ADDR=127.0.0.1 MASTER_PORT={}\n",
                    commands.size(), commands.size(), parallel::free_port());
    for (size_t rank = 0; rank < commands.size(); ++rank) {
      script += fmt::format("RANK={0} LOCAL_RANK={0} '{1}' {2} >out{0} 2>err{0} & rank{0}=$!\n", rank,
                            lact::testing::program_file(), commands[rank]);
    }
    script += meanwhile + "\n";
    for (size_t rank = 0; rank < commands.size(); ++rank)
      script += fmt::format("wait $rank{0}; echo $? >code{0}\n", rank);
    EXPECT_EQ(run_script(script), 0) << "the ranks have not ended";
    std::vector<Outcome> outcomes;
    for (size_t rank = 0; rank < commands.size(); ++rank) {
      const auto file = [&](const char* name) { return read_file(folder_ / (name + std::to_string(rank))); };
      outcomes.push_back({std::atoi(file("code").c_str()), file("out"), file("err")});
    }
    return outcomes;
  }

  void expect_resumable() const {
    const auto outcome = run_program("--threads 1 lm train --stop-after 1 --resume " + quoted("run"));
    EXPECT_EQ(outcome.exit_code, 130);
    EXPECT_THAT(outcome.err, ContainsRegex("continuing after step [0-9]*[05]"));
    EXPECT_THAT(outcome.err, Not(HasSubstr("damaged")));
  }

  TemporaryFolder folder_;
};

const std::string kUntilSaved =
    "until ls run/checkpoints/step-*.safetensors >/dev/null 2>&1; do kill -0 ${launcher:-$rank0} || break; "
    "sleep 0.05; done\n";

void expect_lost(const Outcome& outcome, const std::string& rank) {
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_THAT(outcome.err, ContainsRegex("lact: error: \\[parallel\\] [a-z' -]+: [^\n]*" + rank));
}

TEST_F(Ranks, ASceneIsReadBySeveral) {
  const auto path = [&](const char* name) { return quoted(name); };
  ASSERT_EQ(run_program("nvs photos --views 5 --size 16 -o " + path("photos")).exit_code, 0);
  const std::string words = "nvs reconstruct " + path("photos") + " --size 16 --precision f32 -o ";
  ASSERT_EQ(run_program(words + path("one.fw")).exit_code, 0);
  const auto outcome = run_program("launch -n 2 -- " + words + path("two.fw"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto one = io::read_safetensors(folder_ / "one.fw").tensors,
             two = io::read_safetensors(folder_ / "two.fw").tensors;
  ASSERT_EQ(one.size(), two.size());
  for (const auto& [name, tensor] : one) EXPECT_TRUE(at::allclose(two.at(name), tensor, 1e-3, 1e-4)) << name;
}

TEST_F(Ranks, ARankThatIsKilledStopsTheOthersWhichNameIt) {
  const std::string words = kEndless + "--mesh context=2 -o run";
  const auto outcomes = by_hand({words, words}, kUntilSaved + "kill -9 $rank1");
  EXPECT_EQ(outcomes[1].exit_code, 128 + 9);
  expect_lost(outcomes[0], "rank 1 is gone or stuck");
  expect_resumable();
}

TEST_F(Ranks, TheFirstRankIsNamedToo) {
  const std::string words = kEndless + "-o run";
  const auto outcomes = by_hand({words, words, words}, kUntilSaved + "kill -9 $rank0");
  for (const size_t rank : {1, 2})
    expect_lost(outcomes[rank], "rank 0, where the ranks meet, is gone or stuck");
  expect_resumable();
}

TEST_F(Ranks, ThoseThatLiveAreNotBlamed) {
  const std::string words = kEndless + "-o run";
  const auto outcomes = by_hand({words, words, words}, kUntilSaved + "kill -9 $rank1");
  for (const size_t rank : {0, 2}) expect_lost(outcomes[rank], "rank 1 is gone or stuck");
}

TEST_F(Ranks, ARankThatHangsIsGivenUpAfterTheTimeout) {
  const std::string words = kEndless + "--mesh context=2 -o run";
  const auto outcomes =
      by_hand({words, words}, kUntilSaved + "kill -STOP $rank1; wait $rank0; echo $? >early; kill -9 $rank1");
  EXPECT_EQ(read_file(folder_ / "early"), "1\n");
  EXPECT_THAT(outcomes[0].err, ContainsRegex("\\[parallel\\] [a-z' -]+: rank 1 is gone or stuck"));
  expect_resumable();
}

/// `$ranks` are the processes of `lact launch`, and `$victim` that of rank 1.
const std::string kFindRanks =
    "until ranks=$(pgrep -P $launcher) && victim=$(for process in $ranks; do tr '\\0' '\\n' "
    "</proc/$process/environ | grep -qx RANK=1 && echo $process; done; true) && [ \"$victim\" ]; do sleep "
    "0.02; "
    "done\n";

TEST_F(Ranks, ALaunchedJobEndsWithoutOrphans) {
  run_script("'" + lact::testing::program_file() + "' launch -n 3 -- " + kEndless +
             "--mesh data=3 -o run >out 2>err & launcher=$!\n" + kUntilSaved + kFindRanks +
             "kill -9 $victim; wait $launcher; echo $? >code\n"
             "for process in $ranks; do [ -e /proc/$process ] && echo $process; done >orphans");
  EXPECT_EQ(read_file(folder_ / "code"), fmt::format("{}\n", 128 + 9));
  EXPECT_EQ(read_file(folder_ / "orphans"), "");
  const std::string messages = read_file(folder_ / "err");
  EXPECT_THAT(messages, HasSubstr("rank 1 was killed by signal 9"));
  expect_resumable();
}

TEST_F(Ranks, ALaunchedJobGoesOnFromItsCheckpoint) {
  const std::string training = kTinyRun + "--steps 60 --save-every 20 --mesh context=2 ";
  run_script("lact launch -n 2 -- " + training + "-o whole >/dev/null 2>&1\n'" +
             lact::testing::program_file() + "' launch -n 2 --restarts 1 -- " + training +
             "-o run >out 2>err & launcher=$!\n" + kUntilSaved + kFindRanks +
             "kill -9 $victim; wait $launcher; echo $? >code\n");
  const std::string messages = read_file(folder_ / "err");
  EXPECT_EQ(read_file(folder_ / "code"), "0\n") << messages;
  EXPECT_THAT(messages, HasSubstr("starting all ranks again, 1 of 1 times"));
  EXPECT_THAT(messages, ContainsRegex("continuing after step [24]0"));
  EXPECT_GT(read_file(folder_ / "whole/model.safetensors").size(), 1000U);
  EXPECT_EQ(read_file(folder_ / "run/model.safetensors"), read_file(folder_ / "whole/model.safetensors"));
}

/// All are refused at the start, and nothing is written.
void expect_refused(const std::vector<Outcome>& outcomes, const std::string& sentence,
                    const TemporaryFolder& folder) {
  for (const auto& outcome : outcomes) {
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(sentence));
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "run/run.json"));
}

TEST_F(Ranks, ThatDifferAreRefusedAtTheStart) {
  const std::string words = kEndless + "-o run ";
  expect_refused(by_hand({words, words + "--set chunk_size=16"}),
                 "the settings of the run of rank 1 is not that of rank 0", folder_);
  expect_refused(by_hand({words + "--mesh context=2", words + "--mesh tensor=2"}),
                 "the mesh of rank 1 is not that of rank 0", folder_);
  expect_refused(by_hand({words, words, words + "--mesh context=3"}),
                 "the mesh of rank 2 is not that of rank 0", folder_);
}

TEST_F(Ranks, AMeshThatDoesNotFitIsRefusedAtTheStart) {
  const std::string words = kEndless + "-o run ";
  expect_refused(by_hand({words + "--mesh context=3", words + "--mesh context=3"}),
                 "context=3,tensor=1 is a mesh of 3 ranks but the job has 2", folder_);
  expect_refused(by_hand({words + "--mesh tensor=3", words + "--mesh tensor=3", words + "--mesh tensor=3"}),
                 "cannot be shared out among the 3 ranks of the tensor axis", folder_);
  expect_mistake(kTinyRun + "--mesh context=2 -o " + quoted("run"),
                 "context=2,tensor=1 has 2 ranks but this is one process; start them with: lact launch -n 2");
  expect_mistake(kTinyRun + "--mesh contxt=2 -o " + quoted("run"), "contxt");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run/run.json"));
}

TEST_F(Ranks, ThatDoNotComeAreWaitedForNoLongerThanTheTimeout) {
  const auto outcome = run_program(
      kEndless + "-o " + quoted("run"),
      fmt::format("RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT={}",
                  parallel::free_port()));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("rank 1 is gone or stuck"));
}

/// Two machines, each with a network of its own and a cable between them.
TEST_F(Ranks, OfTwoMachinesMeetAtAnAddress) {
  const std::string script =
      "a=lact-a-$$ b=lact-b-$$\n"
      "trap 'ip netns del $a; ip netns del $b' EXIT\n"
      "{ ip netns add $a && ip netns add $b && ip link add lact0 netns $a type veth peer name lact0 netns $b "
      "&& ip -n $a addr add 10.213.77.1/24 dev lact0 && ip -n $b addr add 10.213.77.2/24 dev lact0 &&\n"
      "for n in $a $b; do ip -n $n link set lo up && ip -n $n link set lact0 up || exit 77; done\n"
      "} >/dev/null 2>&1 || exit 77\n"
      "start() { ip netns exec $1 env RANK=$2 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 "
      "MASTER_ADDR=10.213.77.1 MASTER_PORT=29500 '" +
      lact::testing::program_file() + "' " + kTinyRun +
      "--steps 3 --mesh context=2 --timeout 20 -o run >out$2 2>err$2; }\n"
      "start $a 0 & first=$!\nstart $b 1; code=$?\nwait $first && exit $code\n";
  const int code = run_script(script);
  if (code == 77) GTEST_SKIP() << "network namespaces cannot be made here (root and ip from iproute2)";
  EXPECT_EQ(code, 0) << read_file(folder_ / "err0") << read_file(folder_ / "err1");
  EXPECT_TRUE(std::filesystem::exists(folder_ / "run/model.safetensors"));
}

}  // namespace
}  // namespace lact::cli
