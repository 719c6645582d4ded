#include "lact/tasks/nvs/fitting/task.h"

#include <ATen/ATen.h>

#include "lact/tasks/nvs/evaluation/image_metrics.h"

namespace lact::tasks::nvs {

FittingTask::FittingTask(std::shared_ptr<models::ViewModel> model,
                         std::shared_ptr<const data::ViewSource> train, HeldOut held_out,
                         const TaskOptions& options)
    : TrainingTask(std::move(model), std::move(train), nullptr, options), held_out_(std::move(held_out)) {}

std::map<std::string, double> FittingTask::validate() {
  const at::Tensor rendered = render_held_out(nvs(), held_out_), truth = at::stack(held_out_.truth.images);
  write_samples({truth.unbind(0), rendered.unbind(0)});
  const ImageScores scores = score_images(rendered, truth);
  return {{"psnr", scores.psnr}, {"ssim", scores.ssim}, {"share_waited_for_pictures", share_waited()}};
}

}  // namespace lact::tasks::nvs
