#include "lact/data/views/photo_source.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include "lact/base/error.h"
#include "lact/base/random.h"
#include "lact/data/views/photo_scenes.h"
#include "lact/ops/images/lanczos.h"

namespace lact::data {

namespace {

constexpr int64_t kMostScenes = 1 << 20, kMostMegabytes = 1 << 24;
constexpr double kMostZoom = 4;

std::vector<NamedPath> scenes_of(const PhotoConfig& config, ScenePart part) {
  const auto all = find_photo_scenes(config.photos);
  const auto split = [&](ScenePart which) {
    return split_by_name(all, which, config.photo_holdout, config.photo_holdout_names, "capture", "captures");
  };
  if (part == ScenePart::kTrain) return split(ScenePart::kTrain);
  auto held_out = split(ScenePart::kHoldout);
  LACT_CHECK(!held_out.empty() || config.photo_every > 0,
             "no capture is held out, so there is none to validate on: set photo_holdout, or photo_every to "
             "hold out photos of each capture");
  return held_out.empty() ? all : held_out;
}

/// A picture's bytes [H, W, 3] as planes in [0, 1].
void write_planes(const at::Tensor& image, float* planes) {
  const int64_t pixels = image.size(0) * image.size(1);
  const auto* bytes = image.data_ptr<uint8_t>();
  for (int64_t i = 0; i < pixels; ++i)
    for (int64_t channel = 0; channel < 3; ++channel)
      planes[channel * pixels + i] = static_cast<float>(bytes[3 * i + channel]) / 255;
}

/// The first `count` of the items become a random choice of them, in random order.
void choose_first(std::vector<int64_t>& items, int64_t count, Random& random) {
  const auto size = static_cast<int64_t>(items.size());
  for (int64_t i = 0; i < count; ++i)
    std::swap(items[static_cast<size_t>(i)], items[static_cast<size_t>(i + random.below(size - i))]);
}

/// A window of a picture, as many times larger than the shape as `factor` says, in the size of the shape.
SizedView window_of(const SizedView& whole, const BatchShape& shape, double factor, Random& random) {
  const auto part = [&](int64_t side, int64_t all) {
    return std::min(all, std::max<int64_t>(1, std::llround(static_cast<double>(side) * factor)));
  };
  const int64_t height = part(shape.height, whole.image.size(0)),
                width = part(shape.width, whole.image.size(1));
  const int64_t top = random.below(whole.image.size(0) - height + 1),
                left = random.below(whole.image.size(1) - width + 1);
  SizedView view = whole;
  view.image = ops::resize_lanczos(whole.image.narrow(0, top, height).narrow(1, left, width).contiguous(),
                                   {shape.height, 0, shape.height}, {shape.width, 0, shape.width});
  const double down = static_cast<double>(shape.height) / static_cast<double>(height),
               across = static_cast<double>(shape.width) / static_cast<double>(width);
  Camera& camera = view.camera;
  camera.height = shape.height, camera.width = shape.width;
  camera.fx *= across, camera.cx = (camera.cx - static_cast<double>(left)) * across;
  camera.fy *= down, camera.cy = (camera.cy - static_cast<double>(top)) * down;
  return view;
}

/// The world turned about its z axis.
void turn_about_vertical(std::vector<Camera>& cameras, double radians) {
  const double cosine = std::cos(radians), sine = std::sin(radians);
  for (Camera& camera : cameras) {
    auto& [x, y, z, one] = camera.camera_to_world;
    for (size_t i = 0; i < 4; ++i) {
      const double before = x[i];
      x[i] = cosine * before - sine * y[i];
      y[i] = sine * before + cosine * y[i];
    }
  }
}

}  // namespace

void PhotoConfig::check() const {
  LACT_CHECK(photo_share >= 0 && photo_share <= 1, "photo_share is {}, expected 0 to 1", photo_share);
  LACT_CHECK(photo_share == 0 || !photos.empty(), "photo_share is {}, but no photos are given", photo_share);
  LACT_CHECK(stretch.least >= 0 && stretch.most <= kMostScenes, "stretch is {}, expected 0 to {} photos",
             stretch.text(), kMostScenes);
  LACT_CHECK(photo_holdout >= 0 && photo_holdout <= kMostScenes, "photo_holdout is {}, expected 0 to {}",
             photo_holdout, kMostScenes);
  LACT_CHECK(photo_every >= 0 && photo_every <= kMostScenes && photo_every != 1,
             "photo_every is {}, expected 0 or 2 to {}", photo_every, kMostScenes);
  LACT_CHECK(zoom >= 0 && zoom <= kMostZoom, "zoom is {}, expected 0 to {}", zoom, kMostZoom);
  LACT_CHECK(turn >= 0 && turn <= 180, "turn is {}, expected 0 to 180 degrees", turn);
  LACT_CHECK(photo_cache >= 0 && photo_cache <= kMostMegabytes, "photo_cache is {}, expected 0 to {}",
             photo_cache, kMostMegabytes);
}

PhotoSource::PhotoSource(const PhotoConfig& config, ScenePart part, FrameChoice frame)
    : stretch_(config.stretch),
      frame_(frame),
      every_(config.photo_every),
      pictures_(static_cast<size_t>(config.photo_cache) << 20) {
  config.check();
  const bool names = !config.photo_holdout_names.empty();
  guesses_ = part == ScenePart::kHoldout && every_ > 0 && !names && config.photo_holdout == 0;
  if (part == ScenePart::kTrain) zoom_ = config.zoom, turn_ = config.turn;
  const auto files = scenes_of(config, part);
  scenes_.resize(files.size());
  at::parallel_for(0, num_scenes(), 1, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
      scenes_[i] = read_scene(files[i], config.reading);
  });
}

PhotoSource::Scene PhotoSource::read_scene(const NamedPath& file, const CaptureOptions& reading) const {
  Scene scene{file.name, load_capture(file.path, reading), {}, {}, {}};
  std::vector<int64_t> others;
  for (int64_t i = 0; i < static_cast<int64_t>(scene.capture.views.size()); ++i)
    (every_ > 0 && i % every_ == 0 ? others : scene.shown).push_back(i);
  scene.guessed = guesses_ ? others : scene.shown;
  if (frame_ == FrameChoice::object) scene.object = object_frame(cameras_of(scene.capture));
  return scene;
}

void PhotoSource::check_counts(int64_t inputs, int64_t targets) const {
  for (const Scene& scene : scenes_) {
    const auto shown = static_cast<int64_t>(scene.shown.size()),
               guessed = static_cast<int64_t>(scene.guessed.size());
    const bool enough = guesses_ ? shown >= inputs && guessed >= 1 : shown >= inputs + targets;
    LACT_CHECK(enough, "{}: has {} photos {}, but {} input and {} target views are asked for",
               scene.capture.source, shown, every_ > 0 ? "that are not held out" : "in all", inputs, targets);
  }
}

std::vector<int64_t> PhotoSource::draw_photos(const Scene& scene, Random& random, int64_t inputs,
                                              int64_t views) const {
  const auto available = static_cast<int64_t>(scene.shown.size());
  const int64_t drawn = guesses_ ? inputs : views;
  const CountRange any = {drawn, available};
  const int64_t length = std::clamp((stretch_.most > 0 ? stretch_ : any).draw(random), drawn, available);
  const auto first = scene.shown.begin() + random.below(available - length + 1);
  std::vector<int64_t> photos(first, first + length);
  choose_first(photos, drawn, random);
  photos.resize(static_cast<size_t>(drawn));
  if (guesses_) {
    // There may be fewer than asked for: then some are guessed twice.
    std::vector<int64_t> targets = scene.guessed;
    random.shuffle(targets);
    for (int64_t i = 0; i < views - inputs; ++i)
      photos.push_back(targets[static_cast<size_t>(i) % targets.size()]);
  }
  return photos;
}

std::shared_ptr<const SizedView> PhotoSource::picture(int64_t scene, int64_t view, io::ImageSize size) const {
  return pictures_.get({scene, view, size.height, size.width}, [&] {
    const View& photo = scenes_[static_cast<size_t>(scene)].capture.views[static_cast<size_t>(view)];
    return std::make_shared<const SizedView>(sized_view(photo, size.height, size.width));
  });
}

SizedView PhotoSource::shown_part(int64_t scene, int64_t view, const BatchShape& shape,
                                  Random& random) const {
  if (zoom_ == 0) return *picture(scene, view, {shape.height, shape.width});
  const auto larger = [&](int64_t side) { return std::llround(static_cast<double>(side) * (1 + zoom_)); };
  const auto whole = picture(scene, view, {larger(shape.height), larger(shape.width)});
  return window_of(*whole, shape, 1 + zoom_ * random.uniform(), random);
}

std::vector<Camera> PhotoSource::draw(uint64_t seed, const BatchShape& shape, const StopCheck& stop_check,
                                      float* pixels) const {
  Random random(seed), changes(mix(seed, 1));
  const int64_t index = random.below(num_scenes());
  const Scene& scene = scenes_[static_cast<size_t>(index)];
  std::vector<Camera> cameras;
  for (const int64_t photo : draw_photos(scene, random, shape.inputs, shape.views)) {
    stop_check();
    const SizedView view = shown_part(index, photo, shape, changes);
    write_planes(view.image, pixels);
    pixels += 3 * shape.height * shape.width;
    cameras.push_back(view.camera);
  }
  cameras = frame_ == FrameChoice::object ? to_scene(scene.object, cameras)
                                          : in_frame_of_inputs(cameras, shape.inputs, frame_);
  if (turn_ > 0) turn_about_vertical(cameras, (2 * changes.uniform() - 1) * turn_ * std::numbers::pi / 180);
  return cameras;
}

}  // namespace lact::data
