// What happens before the first step: one checkpoint, one folder and one model for all ranks.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/base/options.h"
#include "lact/ops/dispatch/device.h"
#include "lact/train/trainer.h"

namespace lact::train {

namespace {

std::optional<Checkpoint> find_here(const RunOptions& run) {
  const CheckpointFolder folder(checkpoints_of(run.folder), 1);
  auto [newest, damaged] = folder.search();
  if (!newest && !run.from_start) {
    LACT_CHECK(damaged.empty(),
               "{}: no checkpoint can be read, damaged are {}; --from-start begins again at step 0",
               run.folder, fmt::join(damaged, ", "));
    LACT_CHECK(!run.initial_weights,
               "{}: the run began with the weights of another model, and no checkpoint holds them; "
               "--from-start begins again with that model",
               run.folder);
  }
  folder.set_aside(damaged);
  if (!newest) log::warn("{}: holds no checkpoint to go on from, starting at step 0", run.folder);
  return newest;
}

}  // namespace

std::string checkpoints_of(const std::string& folder) {
  return (std::filesystem::path(folder) / "checkpoints").string();
}

std::optional<Checkpoint> find_checkpoint(const RunOptions& run) {
  std::optional<Checkpoint> found;
  parallel::on_first(run.world.all, [&] { found = find_here(run); });
  if (run.world.all.rank() != 0) found = find_here(run);
  return found;
}

std::unique_ptr<RunLock> lock_folder(const RunOptions& run) {
  std::unique_ptr<RunLock> lock;
  parallel::on_first(run.world.all, [&] { lock = std::make_unique<RunLock>(run.folder); });
  return lock;
}

void check_ranks(Task& task, const TrainOptions& options, const RunOptions& run,
                 const std::optional<Checkpoint>& checkpoint) {
  const parallel::Group& ranks = run.world.all;
  if (ranks.alone()) return;
  parallel::check_same(ranks, options::write(options).dump(), "the training options");
  parallel::check_same(ranks, checkpoint ? std::to_string(checkpoint->step) : "none",
                       "the checkpoint's step");
  std::string weights;
  for (const auto& item : task.model().named_parameters()) {
    const at::Tensor values = item.value().detach();
    const bool compared = !checkpoint && !(run.lent && run.lent->owner(item.value()));
    weights += fmt::format("{} {} {}\n", item.key(), fmt::join(item.value().sizes(), "x"),
                           compared ? values.to(at::kDouble).square().sum().item<double>() : 0);
  }
  parallel::check_same(ranks, weights, "the model");
}

std::shared_ptr<LentParameters> lent_parameters(const RunOptions& run) {
  if (run.shard != parallel::Shard::parameters || run.world.alone()) return nullptr;
  LACT_CHECK(ops::compute_device().is_cpu(),
             "[train] --shard parameters lends weights between processors, but --device is {}",
             ops::compute_device().str());
  return std::make_shared<LentParameters>(run.world.all);
}

}  // namespace lact::train
