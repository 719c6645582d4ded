#include "lact/models/plan/workload.h"

#include "lact/base/error.h"
#include "lact/models/plan/tasks.h"

namespace lact::models::plan {

namespace {

void refuse(const char* task, const char* option, const std::optional<int64_t>& value) {
  LACT_CHECK(!value, "[plan] --{} means nothing for {}", option, task);
}

}  // namespace

int64_t Workload::num_blocks() const {
  int64_t count = 0;
  for (const auto& block : blocks) count += block.count;
  return count;
}

Workload workload(const ModelConfig& config, const Sizes& sizes) {
  const Task task = task_of(config);
  const char* const kNames[] = {"a language model", "a view-synthesis model", "a video model"};
  const char* name = kNames[config.index()];
  if (task != Task::lm) refuse(name, "length", sizes.length);
  if (task != Task::nvs) {
    refuse(name, "views", sizes.views), refuse(name, "targets", sizes.targets);
    refuse(name, "image-size", sizes.image_size);
  }
  if (task != Task::video) {
    refuse(name, "chunks", sizes.chunks), refuse(name, "noise-repeats", sizes.noise_repeats);
  }
  Workload all = task == Task::lm    ? text_workload(std::get<LmConfig>(config), sizes)
                 : task == Task::nvs ? views_workload(std::get<NvsConfig>(config), sizes)
                                     : video_workload(std::get<VideoConfig>(config), sizes);
  all.task = task;
  all.sizes = sizes;
  return all;
}

}  // namespace lact::models::plan
