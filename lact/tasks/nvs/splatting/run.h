// A run of `lact nvs splat`: its settings, and how it begins, goes on and ends.
#pragma once

#include <functional>
#include <string>

#include "lact/data/views/points.h"
#include "lact/tasks/nvs/evaluation/image_metrics.h"
#include "lact/tasks/nvs/fitting/held_out.h"
#include "lact/tasks/nvs/splatting/config.h"

namespace lact::tasks::nvs {

struct SplatRun {
  std::string photos, points;
  int64_t height = 0, width = 0;
  int64_t photo_every = 8, views = 0;
  double minutes = 0;
  int64_t iterations = 30'000;
  int64_t seed = 1;
  int64_t log_every = 100, keep = 1;
  data::CaptureOptions reading;
  SplatConfig splats;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("photos", photos, "the capture: a folder with a camera file, or the file");
    field("points", points, "file of points to begin with; empty: those of the capture, or random ones");
    field("height", height, "rows of a picture");
    field("width", width, "columns of a picture");
    field("photo_every", photo_every, "every n-th photo, from the first on, is never trained on");
    field("views", views,
          "of the others, so many are trained on, spread over places and directions as eval chooses them; 0: "
          "all");
    field("minutes", minutes, "time that the run takes, all its parts together; 0: iterations decide");
    field("iterations", iterations, "steps, of one photo each");
    field("seed", seed, "of the order of photos and of random places");
    field("log_every", log_every, "steps between records in metrics.jsonl");
    field("keep", keep, "checkpoints kept");
    field("reading", reading, "how the camera file is read");
    field("splats", splats, "the optimisation");
  }

  void check() const;
  data::Capture capture() const { return data::load_capture(photos, reading); }
  /// In the capture's own coordinates.
  HeldOut held_out(const data::Capture& capture) const;
};

struct SplatResult {
  int64_t steps = 0, gaussians = 0;
  bool finished = false;  ///< false: interrupted
  double seconds = 0;     ///< of all parts of the run
  ImageScores scores;     ///< on the held-out photos
  int64_t photos = 0, held_out = 0;
};

struct SplatPlace {
  std::string ply;  ///< the file that is made
  bool resume = false;
  int64_t stop_after = 0;           ///< stops cleanly after this step; 0: runs to the end
  std::function<bool()> stop = {};  ///< asked before every step; without it SIGINT and SIGTERM stop the run
  std::function<double()> clock = {};  ///< seconds; the system's where absent
};

/// The folder of a run that makes this file: settings, checkpoints, metrics.jsonl, sheet and curve.
std::string run_folder_of(const std::string& ply);

/// The settings of the run that makes this file.
SplatRun read_splat_run(const std::string& ply);

/// Optimises, and writes the .ply when it has finished. A new run never overwrites another one.
SplatResult optimise_splats(const SplatRun& run, const SplatPlace& place);

}  // namespace lact::tasks::nvs
