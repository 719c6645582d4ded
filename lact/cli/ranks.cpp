#include "lact/cli/ranks.h"

#include "lact/base/error.h"
#include "lact/cli/numbers.h"
#include "lact/parallel/environment.h"

namespace lact::cli {

namespace {

constexpr Limits kSeconds = {1, 1e6};

}  // namespace

void add_rank_options(CLI::App& verb, RankOptions& ranks) {
  verb.add_option(
          "--mesh", ranks.mesh,
          "How the processes of a launcher share the work, such as data=2,context=2,tensor=2: copies of "
          "the model with other batches, tokens of every chunk, heads; without it all are copies, or share "
          "the tokens where there is one sequence")
      ->group("Several processes");
  add_number(verb, "--timeout", ranks.timeout, "Seconds after which a process that is not heard of is lost",
             kSeconds)
      ->group("Several processes");
}

parallel::World join_ranks(const RankOptions& ranks, Shared shared) {
  const parallel::Environment environment = parallel::environment_of_process();
  parallel::Mesh mesh = {.data = environment.world};
  if (shared == Shared::sequence) std::swap(mesh.data, mesh.context);
  if (!ranks.mesh.empty()) mesh = parallel::parse_mesh(ranks.mesh);
  LACT_CHECK(mesh.ranks() == 1 || environment.launched(),
             "[mesh] {} has {} ranks but this is one process; start them with: lact launch -n {} -- ...",
             parallel::to_string(mesh), mesh.ranks(), mesh.ranks());
  LACT_CHECK(shared == Shared::batches || mesh.data * mesh.tensor == 1,
             "[mesh] one sequence is shared out by its tokens, context={}, but the mesh is {}", mesh.ranks(),
             parallel::to_string(mesh));
  return parallel::join({.rank = environment.rank,
                         .world = environment.world,
                         .address = environment.address,
                         .port = environment.port,
                         .timeout = std::chrono::milliseconds(int64_t(ranks.timeout * 1000))},
                        mesh);
}

}  // namespace lact::cli
