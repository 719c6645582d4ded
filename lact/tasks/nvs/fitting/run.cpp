#include "lact/tasks/nvs/fitting/run.h"

#include <algorithm>
#include <cmath>

#include "lact/base/error.h"
#include "lact/tasks/nvs/fitting/task.h"
#include "lact/train/ranges.h"

namespace lact::tasks::nvs {

FitRun::FitRun() {
  photos.photo_share = 1;
  photos.photo_holdout = 0;
  photos.photo_every = 8;
  photos.stretch = 1 << 20;  // all of the capture
  photos.zoom = 0.5;         // whole photos are soon known by heart
  frame = data::FrameChoice::object;
  Stage& stage = stages.front();
  stage.inputs = data::CountRange(4, 8);
  stage.targets = 4;
  stage.scenes = 1;
  training.minutes = 20;
  training.steps = 1'000'000'000;  // the clock ends it
  training.rate = 2e-3;
  training.rate_floor = 0.02;
  training.warmup = 100;
}

void FitRun::check() const {
  Run::check();
  LACT_CHECK(photos.photos.size() == 1 && photos.photo_share == 1 && photos.photo_holdout == 0 &&
                 photos.photo_holdout_names.empty(),
             "[fit] a fit is to the photos of one capture");
  LACT_CHECK(photos.photo_every >= 2, "[fit] photo_every is {}, expected 2 or more: some photos are held out",
             photos.photo_every);
  LACT_CHECK(stages.size() == 1, "[fit] there are {} stages, expected 1", stages.size());
  train::check_range("views", views, 0, 1 << 20);
}

data::Capture FitRun::capture() const { return data::load_capture(photos.photos.front(), photos.reading); }

HeldOutOptions FitRun::held_out() const { return {stages.front().size, frame, photos.photo_every, views}; }

std::shared_ptr<train::Task> FitRun::make_task(const std::string& folder, const std::string& initial) {
  HeldOut photos_held_out = held_out_photos(capture(), held_out());
  const auto made = make_model(initial);
  return std::make_shared<FittingTask>(made, source(data::ScenePart::kTrain), std::move(photos_held_out),
                                       task_options(folder));
}

io::ImageSize size_for_photos(const data::Capture& capture, int64_t longer_side, int64_t patch) {
  const data::Camera& first = capture.views.front().camera;
  LACT_CHECK(first.width > 0 && first.height > 0, "{}: the size of {} is not known", capture.source,
             capture.views.front().image);
  const double scale = double(longer_side) / double(std::max(first.width, first.height));
  const auto whole = [&](int64_t side) {
    return std::max<int64_t>(1, std::llround(double(side) * scale / double(patch))) * patch;
  };
  return {whole(first.height), whole(first.width)};
}

}  // namespace lact::tasks::nvs
