// Tuning a view-synthesis model to one capture.
#pragma once

#include "lact/tasks/nvs/fitting/held_out.h"
#include "lact/tasks/nvs/training/task.h"

namespace lact::tasks::nvs {

/// Validation is what people will see: the held-out photos, drawn from a scene that was read from the others.
class FittingTask : public TrainingTask {
 public:
  FittingTask(std::shared_ptr<models::ViewModel> model, std::shared_ptr<const data::ViewSource> train,
              HeldOut held_out, const TaskOptions& options);

  /// PSNR and SSIM on the held-out photos, and the share of time that training has waited for photos.
  std::map<std::string, double> validate() override;

 private:
  HeldOut held_out_;
};

}  // namespace lact::tasks::nvs
