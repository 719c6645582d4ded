#include "lact/train/task.h"

#include <fmt/format.h>

namespace lact::train {

void Task::set_world(const parallel::World& world) {
  LACT_CHECK(world.mesh.shards() == 1,
             "[train] this task has no sequences that {} ranks could share: its mesh is data={}",
             world.mesh.shards(), world.mesh.ranks());
}

std::string Task::loss_text(double loss) const { return fmt::format("loss {:.3f}", loss); }

}  // namespace lact::train
