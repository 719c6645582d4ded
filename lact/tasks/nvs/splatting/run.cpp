#include "lact/tasks/nvs/splatting/run.h"

#include <ATen/ATen.h>

#include <cmath>
#include <filesystem>
#include <optional>

#include "lact/base/error.h"
#include "lact/base/format.h"
#include "lact/base/interrupt.h"
#include "lact/base/log.h"
#include "lact/base/memory_use.h"
#include "lact/io/gaussian_ply.h"
#include "lact/ops/splat/picture.h"
#include "lact/tasks/nvs/gaussian_scene.h"
#include "lact/tasks/nvs/splatting/optimisation.h"
#include "lact/train/checkpoint.h"
#include "lact/train/ranges.h"
#include "lact/train/recorder.h"
#include "lact/train/run_folder.h"
#include "lact/train/time_budget.h"

namespace lact::tasks::nvs {

namespace {

namespace fs = std::filesystem;

constexpr const char* kSplatKind = "lact splat checkpoint";

class SplatLoop {
 public:
  SplatLoop(const SplatRun& run, const SplatPlace& place, const data::Capture& capture)
      : run_(run),
        place_(place),
        folder_(run_folder_of(place.ply)),
        photos_(run.held_out(capture)),
        checkpoints_((fs::path(folder_) / "checkpoints").string(), run.keep),
        budget_(60 * run.minutes, place.clock) {
    const data::ScenePoints points =
        run.points.empty() ? data::points_of(capture) : data::read_points(run.points);
    log::info("{}", points.places.empty()
                        ? fmt::format("the capture has no points: {} random ones", run.splats.random_points)
                        : fmt::format("{} points of {}", points.places.size(), points.source));
    optimisation_.emplace(run.splats, run.seed, photos_.shown, points);
  }

  SplatResult go() {
    if (place_.resume) load();
    const int64_t first = steps();
    recorder_.emplace(folder_, "splat", first, done(), total());
    budget_.start();
    const bool finished = loop();
    SplatResult result;
    result.finished = finished;
    save();
    if (finished) {
      result.scores = validate();
      io::write_gaussians(place_.ply, optimisation_->gaussians());
    }
    result.steps = steps();
    result.gaussians = optimisation_->gaussians().size();
    result.seconds = budget_.used();
    result.photos = int64_t(photos_.inputs.size() + photos_.targets.size());
    result.held_out = int64_t(photos_.targets.size());
    recorder_->finish(fmt::format("{} steps in {}, {} Gaussians", steps() - first,
                                  format_duration(budget_.used()), result.gaussians));
    return result;
  }

 private:
  int64_t steps() const { return optimisation_->steps(); }
  int64_t done() const { return budget_.limited() ? int64_t(budget_.used()) : steps(); }
  int64_t total() const { return budget_.limited() ? int64_t(60 * run_.minutes) : run_.iterations; }
  double share() const {
    return budget_.limited() ? budget_.share() : double(steps()) / double(run_.iterations);
  }
  bool ended() const { return share() >= 1; }

  /// False: interrupted.
  bool loop() {
    std::optional<Interrupt> interrupt;
    if (!place_.stop) interrupt.emplace();
    const auto stopped = [&] { return place_.stop ? place_.stop() : interrupt->requested(); };
    double before = share();
    while (!ended()) {
      if (stopped() || (place_.stop_after > 0 && steps() >= place_.stop_after)) return false;
      loss_ = optimisation_->step(before);
      report();
      const double now = share();
      if (train::TimeBudget::passes_check(before, now) && now < 1) {
        validate();
        save();
      }
      before = now;
    }
    return true;
  }

  void report() {
    std::string details =
        fmt::format("step {}, loss {:.4f}, {} Gaussians, {}", steps(), loss_,
                    optimisation_->gaussians().size(), format_bytes(double(resident_bytes())));
    if (psnr_) details += fmt::format(", PSNR {:.2f} dB", *psnr_);
    recorder_->show(done(), details);
    if (steps() % run_.log_every != 0) return;
    recorder_->record(steps(), {{"loss", loss_},
                                {"gaussians", double(optimisation_->gaussians().size())},
                                {"minutes", budget_.used() / 60},
                                {"memory_mb", double(resident_bytes()) / 1e6}});
  }

  ImageScores validate() {
    std::vector<at::Tensor> drawn;
    for (const data::Camera& camera : photos_.truth.cameras)
      drawn.push_back(ops::splat_picture(optimisation_->gaussians(), splat_camera_of(camera),
                                         run_.splats.background_colour()));
    const ImageScores scores = score_images(at::stack(drawn), at::stack(photos_.truth.images));
    psnr_ = scores.psnr;
    recorder_->record(
        steps(),
        {{"valid_psnr", scores.psnr}, {"valid_ssim", scores.ssim}, {"minutes", budget_.used() / 60}});
    recorder_->message(fmt::format("{:.1f} min, step {}: PSNR {:.2f} dB, SSIM {:.4f} on {} held-out photos",
                                   budget_.used() / 60, steps(), scores.psnr, scores.ssim,
                                   photos_.targets.size()));
    return scores;
  }

  void save() {
    io::TensorFile file;
    optimisation_->save(file);
    file.metadata = {{"kind", kSplatKind},
                     {"format", "1"},
                     {"step", std::to_string(steps())},
                     {"milliseconds", std::to_string(int64_t(1000 * budget_.used()))}};
    checkpoints_.save(steps(), file);
  }

  void load() {
    const auto found = checkpoints_.search();
    LACT_CHECK(found.newest || found.damaged.empty(), "{}: no checkpoint of the run can be read", folder_);
    if (!found.newest) return;  // stopped before the first: it begins again
    const auto& [step, path, file] = *found.newest;
    const auto text = [&](const char* key) {
      const auto value = file.metadata.find(key);
      LACT_CHECK(value != file.metadata.end(), "{}: has no {}", path, key);
      return value->second;
    };
    LACT_CHECK(text("kind") == kSplatKind, "{}: is not a {}", path, kSplatKind);
    int64_t milliseconds = -1;
    options::read(options::Json::parse(text("milliseconds"), nullptr, false), milliseconds, path);
    LACT_CHECK(milliseconds >= 0, "{}: milliseconds is {}, expected 0 or more", path, milliseconds);
    optimisation_->load(file, path);
    LACT_CHECK(steps() == step, "{}: is of step {}, expected {}", path, steps(), step);
    budget_.add_earlier(double(milliseconds) / 1000);
  }

  const SplatRun& run_;
  const SplatPlace& place_;
  std::string folder_;
  HeldOut photos_;
  train::CheckpointFolder checkpoints_;
  train::TimeBudget budget_;
  std::optional<SplatOptimisation> optimisation_;
  std::optional<train::Recorder> recorder_;
  double loss_ = 0;
  std::optional<double> psnr_;  ///< on the held-out photos, once they have been looked at
};

}  // namespace

void SplatRun::check() const {
  LACT_CHECK(height > 0 && width > 0 && height <= 16384 && width <= 16384,
             "[splat] pictures are {} x {}, expected 1 x 1 to 16384 x 16384", height, width);
  LACT_CHECK(photo_every >= 2, "[splat] photo_every is {}, expected 2 or more: some photos are held out",
             photo_every);
  train::check_range("views", views, 0, 1 << 20);
  train::check_range("minutes", minutes, 0, 1e7);
  train::check_range("iterations", iterations, 1, train::kMostSteps);
  train::check_range("log_every", log_every, 1, train::kMostSteps);
  train::check_range("keep", keep, 1, 1 << 20);
  splats.check();
}

HeldOut SplatRun::held_out(const data::Capture& capture) const {
  return held_out_photos(capture, {{height, width}, data::FrameChoice::given, photo_every, views});
}

std::string run_folder_of(const std::string& ply) {
  fs::path path(ply);
  return path.replace_extension(".run").string();
}

SplatRun read_splat_run(const std::string& ply) { return train::read_run_file<SplatRun>(run_folder_of(ply)); }

SplatResult optimise_splats(const SplatRun& run, const SplatPlace& place) {
  const std::string folder = run_folder_of(place.ply);
  run.check();
  if (place.resume) {
    train::check_has_run(folder);
  } else {
    train::check_no_run(folder);
  }
  const data::Capture capture = run.capture();
  std::optional<SplatLoop> loop;
  if (!place.resume) loop.emplace(run, place, capture);  // mistakes before anything is written
  const train::RunLock lock(folder);
  if (place.resume) {
    loop.emplace(run, place, capture);
  } else {
    SplatRun kept = run;
    train::make_absolute(kept.photos);
    train::make_absolute(kept.points);
    train::write_run_json(folder, options::write(kept));
  }
  return loop->go();
}

}  // namespace lact::tasks::nvs
