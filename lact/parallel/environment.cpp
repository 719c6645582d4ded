#include "lact/parallel/environment.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "lact/base/error.h"
#include "lact/base/fnv.h"
#include "lact/parallel/slurm_lists.h"

namespace lact::parallel {

namespace {

/// The variables in which a launcher says who a process is.
struct LauncherNames {
  const char *rank, *world, *local_rank, *local_world;
};
constexpr LauncherNames kTorchrun = {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
constexpr LauncherNames kOpenMpi = {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                                    "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"};
constexpr LauncherNames kMpich = {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"};

constexpr int64_t kMostProcesses = 1 << 24, kHighestPort = 65535;
/// Ports that are derived from a job's name: above those of well-known services, below those that systems
/// give to outgoing connections.
constexpr int64_t kFirstJobPort = 20000, kJobPorts = 12000;

class EnvironmentReader {
 public:
  explicit EnvironmentReader(const Variables& variables) : variables_(variables) {}

  Environment read() const {
    // torchrun's names are also those of `lact launch`, and of people who set them by hand.
    if (any_of(kTorchrun)) return read_launcher(kTorchrun);
    if (any_of(kOpenMpi)) return read_launcher(kOpenMpi);
    // srun sets the first two of MPICH's names as well, mpiexec all four, also inside a Slurm job.
    const bool by_mpiexec = has(kMpich.local_rank) || !has("SLURM_PROCID");
    if (has(kMpich.rank) && by_mpiexec) return read_launcher(kMpich);
    return read_slurm();
  }

 private:
  bool has(const char* name) const {
    const char* const value = variables_(name);
    return value != nullptr && *value != '\0';
  }
  std::string text(const char* name) const { return has(name) ? variables_(name) : ""; }
  bool any_of(const LauncherNames& names) const {
    return has(names.rank) || has(names.world) || has(names.local_rank) || has(names.local_world);
  }

  int64_t number(const char* name, int64_t least, int64_t most) const {
    const std::string value = text(name);
    int64_t result = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
    LACT_CHECK(error == std::errc() && end == value.data() + value.size(),
               "[environment] {} is \"{}\", expected a whole number", name, value);
    LACT_CHECK(result >= least && result <= most, "[environment] {} is {}, expected {} to {}", name, result,
               least, most);
    return result;
  }

  /// A rank, and the number of ranks that it has to be below.
  void read_pair(const char* rank_name, const char* world_name, int64_t& rank, int64_t& world) const {
    for (const auto& [missing, given] :
         {std::pair(rank_name, world_name), std::pair(world_name, rank_name)}) {
      LACT_CHECK(has(missing), "[environment] {} is \"{}\" but {} is missing; a launcher sets both", given,
                 text(given), missing);
    }
    world = number(world_name, 1, kMostProcesses);
    rank = number(rank_name, 0, kMostProcesses);
    LACT_CHECK(rank < world, "[environment] {} is {}, expected 0 to {}, for {} is {}", rank_name, rank,
               world - 1, world_name, world);
  }

  Environment read_launcher(const LauncherNames& names) const {
    Environment result;
    const bool has_local = has(names.local_rank) || has(names.local_world);
    LACT_CHECK(has(names.rank) || has(names.world), "[environment] {} is set but {} is missing",
               has(names.local_rank) ? names.local_rank : names.local_world, names.rank);
    read_pair(names.rank, names.world, result.rank, result.world);
    if (has_local) {
      read_pair(names.local_rank, names.local_world, result.local_rank, result.local_world);
      LACT_CHECK(result.local_world <= result.world,
                 "[environment] {} is {}, expected at most {}, which is {}", names.local_world,
                 result.local_world, result.world, names.world);
      LACT_CHECK(result.local_rank <= result.rank, "[environment] {} is {}, expected at most {}, which is {}",
                 names.local_rank, result.local_rank, result.rank, names.rank);
    }
    find_meeting_point(result, has_local);
    return result;
  }

  Environment read_slurm() const {
    Environment result;
    // The script of sbatch runs once, whatever the number of tasks that srun would start in its job.
    const bool batch_script = text("ENVIRONMENT") == "BATCH" && !has("SLURM_STEP_ID");
    if (!has("SLURM_PROCID") || batch_script) return result;
    const char* const world_name = has("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
    // An allocation in which nobody asked for tasks has no number of them.
    if (!has(world_name) && number("SLURM_PROCID", 0, kMostProcesses) == 0) return result;
    read_pair("SLURM_PROCID", world_name, result.rank, result.world);
    const bool has_local = has("SLURM_LOCALID");
    if (has_local) {
      result.local_rank = number("SLURM_LOCALID", 0, kMostProcesses);
      result.local_world = slurm_local_world(result.world);
      LACT_CHECK(result.local_rank < result.local_world,
                 "[environment] SLURM_LOCALID is {}, expected 0 to {}, for this node has {} tasks",
                 result.local_rank, result.local_world - 1, result.local_world);
    }
    find_meeting_point(result, has_local);
    return result;
  }

  /// Tasks on this node. The step's own list is exact; what was asked for per node, or an even share, is more
  /// than the last node may have.
  int64_t slurm_local_world(int64_t world) const {
    if (has("SLURM_STEP_TASKS_PER_NODE")) {
      const int64_t node = has("SLURM_NODEID") ? number("SLURM_NODEID", 0, kMostProcesses) : 0;
      const std::string list = text("SLURM_STEP_TASKS_PER_NODE");
      const int64_t tasks = tasks_on_node(list, node).value_or(0);
      LACT_CHECK(
          tasks >= 1,
          "[environment] SLURM_STEP_TASKS_PER_NODE is \"{}\", expected the tasks of node {}, like 4(x2),3",
          list, node);
      return tasks;
    }
    if (has("SLURM_NTASKS_PER_NODE"))
      return std::min(world, number("SLURM_NTASKS_PER_NODE", 1, kMostProcesses));
    const int64_t nodes = has("SLURM_NNODES") ? number("SLURM_NNODES", 1, kMostProcesses) : 1;
    return (world + nodes - 1) / nodes;
  }

  /// Address and port; and, where the launcher does not say who shares a machine, what the address tells.
  void find_meeting_point(Environment& result, bool has_local) const {
    if (has("MASTER_PORT")) result.port = number("MASTER_PORT", 1, kHighestPort);
    if (has("MASTER_ADDR")) result.address = text("MASTER_ADDR");
    if (result.world == 1) return;
    const bool one_machine = has_local && result.local_world == result.world;
    if (!has("MASTER_ADDR") && !one_machine) result.address = slurm_address(result.world);
    if (result.port == 0) result.port = job_port(result.world);
    const bool loopback = result.address.starts_with("127.") || result.address == "localhost";
    if (!has_local && loopback) result.local_rank = result.rank, result.local_world = result.world;
  }

  /// Rank 0 runs on the first node. Where srun was called is the last resort: it may be a login node.
  std::string slurm_address(int64_t world) const {
    for (const char* name : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"}) {
      if (has(name)) return first_host(text(name));
    }
    LACT_CHECK(has("SLURM_LAUNCH_NODE_IPADDR"),
               "[environment] MASTER_ADDR is missing, expected the host of rank 0, where {} processes meet",
               world);
    return text("SLURM_LAUNCH_NODE_IPADDR");
  }

  /// A port that all processes of a job come to by themselves, and hardly two jobs.
  int64_t job_port(int64_t world) const {
    if (has("SLURM_JOB_ID")) {
      const int64_t job = number("SLURM_JOB_ID", 0, INT64_MAX / 2);
      const int64_t step = has("SLURM_STEP_ID") ? number("SLURM_STEP_ID", 0, INT64_MAX / 2) : 0;
      return kFirstJobPort + (job % kJobPorts + 101 * (step % kJobPorts)) % kJobPorts;
    }
    // Open MPI's name of the job.
    if (has("PMIX_NAMESPACE")) {
      Fnv1a name;
      name.update(text("PMIX_NAMESPACE"));
      return kFirstJobPort + int64_t(name.value() % uint64_t(kJobPorts));
    }
    fail("[environment] MASTER_PORT is missing, expected a free port of the host {} where {} processes meet",
         has("MASTER_ADDR") ? text("MASTER_ADDR") : "of rank 0", world);
  }

  const Variables& variables_;
};

}  // namespace

Environment environment_of(const Variables& variables) { return EnvironmentReader(variables).read(); }

Environment environment_of_process() {
  return environment_of([](const char* name) -> const char* { return std::getenv(name); });
}

std::vector<std::string> variables_of(const Environment& environment) {
  return {fmt::format("{}={}", kTorchrun.rank, environment.rank),
          fmt::format("{}={}", kTorchrun.world, environment.world),
          fmt::format("{}={}", kTorchrun.local_rank, environment.local_rank),
          fmt::format("{}={}", kTorchrun.local_world, environment.local_world),
          "MASTER_ADDR=" + environment.address,
          fmt::format("MASTER_PORT={}", environment.port)};
}

}  // namespace lact::parallel
