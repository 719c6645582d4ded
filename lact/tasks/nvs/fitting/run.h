// The settings of a run of `lact nvs fit`, for start_run and resume_run of lact/train/run.h: a training run
// on the photos of one capture, for a time.
#pragma once

#include <string>

#include "lact/tasks/nvs/fitting/held_out.h"
#include "lact/tasks/nvs/training/run.h"

namespace lact::tasks::nvs {

struct FitRun : Run {
  int64_t views = 0;

  /// Chosen on three captures of 40 to 100 photos, 96 pixels on the longer side, two cores.
  FitRun();

  template <class Visitor>
  void visit(Visitor&& field) {
    Run::visit(field);
    field("views", views, "photos that the scene is read from, spread evenly; 0: all that are not held out");
  }

  // See lact/train/run.h.
  void check() const;
  std::shared_ptr<train::Task> make_task(const std::string& folder, const std::string& initial);

  data::Capture capture() const;
  HeldOutOptions held_out() const;
};

/// The shape of the capture's first photo with the longer side as given, in whole patches.
io::ImageSize size_for_photos(const data::Capture& capture, int64_t longer_side, int64_t patch);

}  // namespace lact::tasks::nvs
