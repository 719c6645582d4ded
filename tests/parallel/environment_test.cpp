#include "lact/parallel/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "lact/base/error.h"
#include "lact/parallel/slurm_lists.h"
#include "support/temporary_folder.h"

namespace lact::parallel {
namespace {

using ::testing::HasSubstr;
using Values = std::map<std::string, std::string>;

Environment read(const Values& values) {
  return environment_of([&](const char* name) -> const char* {
    const auto found = values.find(name);
    return found == values.end() ? nullptr : found->second.c_str();
  });
}

std::string refusal(const Values& values) {
  return lact::testing::sentence_of<Error>([&] { read(values); });
}

Values with(Values values, const Values& others) {
  for (const auto& [name, value] : others) values[name] = value;
  return values;
}

Values without(Values values, const std::string& name) {
  values.erase(name);
  return values;
}

const Values kTorchrunValues = {{"RANK", "5"},
                                {"WORLD_SIZE", "8"},
                                {"LOCAL_RANK", "1"},
                                {"LOCAL_WORLD_SIZE", "4"},
                                {"MASTER_ADDR", "node7"},
                                {"MASTER_PORT", "29500"}};
const Environment kFiveOfEight = {
    .rank = 5, .world = 8, .local_rank = 1, .local_world = 4, .address = "node7", .port = 29500};

const Values kSlurmValues = {{"SLURM_PROCID", "5"},      {"SLURM_NTASKS", "8"},
                             {"SLURM_LOCALID", "1"},     {"SLURM_NTASKS_PER_NODE", "4"},
                             {"SLURM_JOB_ID", "123456"}, {"SLURM_JOB_NODELIST", "gpu[03-07,11],login1"}};

TEST(ProcessEnvironment, WithoutALauncherItIsAWorldOfOne) {
  EXPECT_EQ(read({}), Environment());
  EXPECT_FALSE(read({}).launched());
  EXPECT_EQ(read({{"RANK", ""}, {"MASTER_PORT", "29500"}}), Environment()) << "empty is as good as missing";
}

TEST(ProcessEnvironment, TorchrunIsUnderstood) {
  EXPECT_EQ(read(kTorchrunValues), kFiveOfEight);
  EXPECT_TRUE(read(kTorchrunValues).launched());
}

TEST(ProcessEnvironment, WhatALauncherSetsIsWhatAProcessReads) {
  Values values;
  for (const std::string& variable : variables_of(kFiveOfEight)) {
    const size_t sign = variable.find('=');
    values[variable.substr(0, sign)] = variable.substr(sign + 1);
  }
  EXPECT_EQ(values, kTorchrunValues);
}

TEST(ProcessEnvironment, WithoutLocalRanksTheAddressTellsWhoSharesAMachine) {
  const Values by_hand = without(without(kTorchrunValues, "LOCAL_RANK"), "LOCAL_WORLD_SIZE");
  EXPECT_EQ(read(by_hand).local_rank, 0);
  EXPECT_EQ(read(by_hand).local_world, 1);
  for (const char* here : {"127.0.0.1", "localhost"}) {
    EXPECT_EQ(read(with(by_hand, {{"MASTER_ADDR", here}})).local_rank, 5);
    EXPECT_EQ(read(with(by_hand, {{"MASTER_ADDR", here}})).local_world, 8);
  }
}

TEST(ProcessEnvironment, MpirunIsUnderstood) {
  const Values meeting = {{"MASTER_ADDR", "node7"}, {"MASTER_PORT", "29500"}};
  const Values open_mpi = with(meeting, {{"OMPI_COMM_WORLD_RANK", "5"},
                                         {"OMPI_COMM_WORLD_SIZE", "8"},
                                         {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}});
  EXPECT_EQ(read(open_mpi), kFiveOfEight);
  const Values mpich = with(
      meeting, {{"PMI_RANK", "5"}, {"PMI_SIZE", "8"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "4"}});
  EXPECT_EQ(read(mpich), kFiveOfEight);
  // mpiexec inside of a Slurm job: srun started only its helpers, one for each node.
  EXPECT_EQ(read(with(mpich, {{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}})), kFiveOfEight);
}

TEST(ProcessEnvironment, OnOneMachineOpenMpiNeedsNoAddressAndNoPort) {
  Values values = {{"OMPI_COMM_WORLD_RANK", "1"},
                   {"OMPI_COMM_WORLD_SIZE", "2"},
                   {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                   {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                   {"PMIX_NAMESPACE", "prterun-host-77@1"}};
  const Environment one = read(values), other = read(with(values, {{"PMIX_NAMESPACE", "prterun-host-78@1"}}));
  EXPECT_EQ(one.address, "127.0.0.1");
  EXPECT_GE(one.port, 20000);
  EXPECT_LT(one.port, 32000);
  EXPECT_EQ(read(with(values, {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}})).port,
            one.port);
  EXPECT_NE(one.port, other.port);
}

TEST(ProcessEnvironment, SlurmIsUnderstood) {
  const Environment found = read(kSlurmValues);
  EXPECT_EQ(found, (Environment{.rank = 5,
                                .world = 8,
                                .local_rank = 1,
                                .local_world = 4,
                                .address = "gpu03",
                                .port = 20000 + 123456 % 12000}));
  EXPECT_NE(read(with(kSlurmValues, {{"SLURM_STEP_ID", "1"}})).port, found.port) << "two steps of one job";
  const Environment given = read(with(kSlurmValues, {{"MASTER_ADDR", "node7"}, {"MASTER_PORT", "29500"}}));
  EXPECT_EQ(given, kFiveOfEight);
  // srun with PMI sets these two as well.
  EXPECT_EQ(read(with(kSlurmValues, {{"PMI_RANK", "5"}, {"PMI_SIZE", "8"}})), found);
  // The step's own nodes and tasks count where there are others in the job.
  const Environment step = read(with(
      kSlurmValues,
      {{"SLURM_STEP_NODELIST", "gpu[05-06]"}, {"SLURM_STEP_TASKS_PER_NODE", "3,5"}, {"SLURM_NODEID", "1"}}));
  EXPECT_EQ(step.address, "gpu05");
  EXPECT_EQ(step.local_world, 5);
}

TEST(ProcessEnvironment, AllTasksOnOneNodeMeetOnTheLoopback) {
  const Environment found =
      read(with(kSlurmValues, {{"SLURM_NTASKS_PER_NODE", "8"}, {"SLURM_LOCALID", "5"}}));
  EXPECT_EQ(found.address, "127.0.0.1");
  EXPECT_EQ(found.local_world, 8);
}

TEST(ProcessEnvironment, AnAllocationOfSlurmIsNoJob) {
  EXPECT_FALSE(read({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}, {"SLURM_LOCALID", "0"}}).launched());
  EXPECT_FALSE(read({{"SLURM_PROCID", "0"}}).launched()) << "nobody asked for tasks";
  EXPECT_FALSE(read({{"SLURM_NTASKS", "8"}, {"SLURM_JOB_ID", "5"}}).launched()) << "salloc's shell";
  const Values script = with(kSlurmValues, {{"ENVIRONMENT", "BATCH"}, {"SLURM_PROCID", "0"}});
  EXPECT_FALSE(read(script).launched()) << "the script of sbatch";
  EXPECT_TRUE(read(with(script, {{"SLURM_STEP_ID", "0"}})).launched()) << "srun in the script";
}

TEST(ProcessEnvironment, TorchrunsVariablesWin) {
  EXPECT_EQ(read(with(kSlurmValues, with(kTorchrunValues, {{"OMPI_COMM_WORLD_RANK", "0"}}))), kFiveOfEight);
}

TEST(ProcessEnvironment, WhatIsMissingIsNamed) {
  EXPECT_EQ(refusal(without(kTorchrunValues, "WORLD_SIZE")),
            "[environment] RANK is \"5\" but WORLD_SIZE is missing; a launcher sets both");
  EXPECT_THAT(refusal(without(kTorchrunValues, "RANK")),
              HasSubstr("WORLD_SIZE is \"8\" but RANK is missing"));
  EXPECT_THAT(refusal(without(kTorchrunValues, "LOCAL_RANK")), HasSubstr("but LOCAL_RANK is missing"));
  EXPECT_THAT(refusal({{"LOCAL_RANK", "1"}}), HasSubstr("LOCAL_RANK is set but RANK is missing"));
  EXPECT_EQ(refusal(without(kTorchrunValues, "MASTER_ADDR")),
            "[environment] MASTER_ADDR is missing, expected the host of rank 0, where 8 processes meet");
  EXPECT_EQ(
      refusal(without(kTorchrunValues, "MASTER_PORT")),
      "[environment] MASTER_PORT is missing, expected a free port of the host node7 where 8 processes meet");
  EXPECT_THAT(refusal({{"OMPI_COMM_WORLD_RANK", "1"}}), HasSubstr("OMPI_COMM_WORLD_SIZE is missing"));
  EXPECT_THAT(refusal({{"PMI_RANK", "1"}}), HasSubstr("PMI_SIZE is missing"));
  EXPECT_THAT(refusal(without(kSlurmValues, "SLURM_NTASKS")), HasSubstr("SLURM_NTASKS is missing"));
  EXPECT_THAT(refusal(without(kSlurmValues, "SLURM_JOB_NODELIST")), HasSubstr("MASTER_ADDR is missing"));
  EXPECT_THAT(refusal(without(kSlurmValues, "SLURM_JOB_ID")), HasSubstr("MASTER_PORT is missing"));
}

TEST(ProcessEnvironment, WhatCannotBeIsNamed) {
  const auto changed = [](const char* name, const char* value) {
    return refusal(with(kTorchrunValues, {{name, value}}));
  };
  EXPECT_EQ(changed("RANK", "8"), "[environment] RANK is 8, expected 0 to 7, for WORLD_SIZE is 8");
  EXPECT_EQ(changed("RANK", "two"), "[environment] RANK is \"two\", expected a whole number");
  EXPECT_THAT(changed("RANK", "-1"), HasSubstr("RANK is -1, expected 0 to"));
  EXPECT_THAT(changed("RANK", "1 "), HasSubstr("RANK is \"1 \""));
  EXPECT_THAT(changed("WORLD_SIZE", "0"), HasSubstr("WORLD_SIZE is 0, expected 1 to"));
  EXPECT_THAT(changed("WORLD_SIZE", "99999999999999999999"), HasSubstr("WORLD_SIZE is \"9999"));
  EXPECT_THAT(changed("LOCAL_RANK", "4"),
              HasSubstr("LOCAL_RANK is 4, expected 0 to 3, for LOCAL_WORLD_SIZE is 4"));
  EXPECT_THAT(changed("LOCAL_WORLD_SIZE", "9"), HasSubstr("LOCAL_WORLD_SIZE is 9, expected at most 8"));
  EXPECT_THAT(refusal(with(kTorchrunValues, {{"RANK", "0"}})),
              HasSubstr("LOCAL_RANK is 1, expected at most 0"));
  EXPECT_EQ(changed("MASTER_PORT", "http"), "[environment] MASTER_PORT is \"http\", expected a whole number");
  EXPECT_EQ(changed("MASTER_PORT", "70000"), "[environment] MASTER_PORT is 70000, expected 1 to 65535");
  EXPECT_THAT(refusal(with(kSlurmValues, {{"SLURM_LOCALID", "4"}})), HasSubstr("SLURM_LOCALID is 4"));
  EXPECT_THAT(refusal(with(kSlurmValues, {{"SLURM_JOB_NODELIST", "gpu[03"}})), HasSubstr("gpu[03"));
  EXPECT_THAT(refusal(with(kSlurmValues, {{"SLURM_STEP_TASKS_PER_NODE", "4"}, {"SLURM_NODEID", "1"}})),
              HasSubstr("SLURM_STEP_TASKS_PER_NODE is \"4\""));
}

TEST(SlurmLists, TheFirstHost) {
  EXPECT_EQ(first_host("gpu[03-07,11],login1"), "gpu03");
  EXPECT_EQ(first_host("login1,gpu[03-07]"), "login1");
  EXPECT_EQ(first_host("node7"), "node7");
  EXPECT_EQ(first_host("rack[1-2]-node[05,7]"), "rack1-node05");
  EXPECT_EQ(first_host("10.0.0.1"), "10.0.0.1");
  for (const char* wrong : {"", ",a", "gpu[", "gpu[]", "gpu[a-b]", "gpu]", "a b"}) {
    EXPECT_THROW(first_host(wrong), Error) << wrong;
  }
}

TEST(SlurmLists, TasksOnANode) {
  const std::string list = "4(x2),3";
  EXPECT_EQ(tasks_on_node(list, 0), 4);
  EXPECT_EQ(tasks_on_node(list, 1), 4);
  EXPECT_EQ(tasks_on_node(list, 2), 3);
  for (const char* wrong : {"4(x2),3", "", "a", "4(x", "4(y3)", "1,1,1"}) {
    EXPECT_EQ(tasks_on_node(wrong, 3), std::nullopt) << wrong;
  }
}

}  // namespace
}  // namespace lact::parallel
