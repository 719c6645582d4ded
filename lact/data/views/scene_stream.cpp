#include "lact/data/views/scene_stream.h"

#include <ATen/ATen.h>

#include <chrono>
#include <functional>
#include <system_error>
#include <utility>

#include "lact/base/error.h"
#include "lact/base/random.h"
#include "lact/data/views/camera.h"
#include "lact/data/views/tracer/random_camera.h"
#include "lact/data/views/tracer/render.h"

namespace lact::data {

namespace {

void check_batch_shape(const BatchShape& shape) {
  constexpr int64_t kMaxSide = 8192, kMaxViews = 1 << 20, kMaxValues = int64_t{1} << 32;
  const auto within = [](int64_t value, int64_t most) { return value >= 1 && value <= most; };
  LACT_CHECK(
      within(shape.scenes, kMaxViews) && within(shape.views, kMaxViews) && within(shape.height, kMaxSide) &&
          within(shape.width, kMaxSide) &&
          shape.scenes * shape.views <= kMaxValues / (3 * shape.height * shape.width),
      "a batch of {} scenes with {} views of {} x {} pixels cannot be rendered: all must be positive and the "
      "batch have at most {} values",
      shape.scenes, shape.views, shape.height, shape.width, kMaxValues);
}

struct Stopped {};

/// `stopped` is asked before every picture.
SceneBatch render_unless(const std::function<bool()>& stopped, const SceneMaker& make_scene,
                         const BatchShape& shape, uint64_t seed, int64_t number) {
  SceneBatch batch;
  batch.number = number;
  batch.images = at::empty({shape.scenes, shape.views, 3, shape.height, shape.width}, at::kFloat);
  float* pixels = batch.images.data_ptr<float>();
  std::vector<Camera> cameras;
  for (int64_t i = 0; i < shape.scenes; ++i) {
    const uint64_t scene_seed = mix(mix(seed, static_cast<uint64_t>(number)), static_cast<uint64_t>(i));
    const tracer::Scene scene = make_scene(scene_seed);
    auto scene_cameras = tracer::random_cameras(mix(scene_seed, 1), shape.views, shape.height, shape.width);
    tracer::bring_near(scene_cameras, shape.inputs, shape.near, mix(scene_seed, 2));
    for (const Camera& camera : scene_cameras) {
      if (stopped()) throw Stopped();
      tracer::render_into(pixels, scene, camera);
      pixels += 3 * shape.height * shape.width;
      cameras.push_back(camera);
    }
  }
  batch.intrinsics = intrinsics_of(cameras).reshape({shape.scenes, shape.views, 4});
  batch.camera_to_world = camera_to_world_of(cameras).reshape({shape.scenes, shape.views, 4, 4});
  return batch;
}

}  // namespace

SceneBatch render_batch(const SceneMaker& make_scene, const BatchShape& shape, uint64_t seed,
                        int64_t number) {
  check_batch_shape(shape);
  return render_unless([] { return false; }, make_scene, shape, seed, number);
}

SceneStream::SceneStream(SceneMaker make_scene, const BatchShape& shape, uint64_t seed,
                         const StreamOptions& options)
    : make_scene_(std::move(make_scene)), shape_(shape), seed_(seed), ahead_(options.ahead) {
  check_batch_shape(shape);
  LACT_CHECK(options.threads >= 1 && options.threads <= 256,
             "{} rendering threads are asked for, expected 1 to 256", options.threads);
  LACT_CHECK(options.ahead >= 1 && options.ahead <= 1024,
             "{} batches ahead are asked for, expected 1 to 1024", options.ahead);
  try {
    for (int i = 0; i < options.threads; ++i) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error& error) {
    stop();
    fail("{} rendering threads cannot be started: {}", options.threads, error.what());
  }
}

SceneStream::~SceneStream() { stop(); }

void SceneStream::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wanted_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

int64_t SceneStream::first_unclaimed() const {
  int64_t number = next_;
  while (ready_.count(number) > 0 || in_work_.count(number) > 0) ++number;
  return number;
}

void SceneStream::work() {
  const auto stopped = [this] {
    const std::lock_guard lock(mutex_);
    return stopping_;
  };
  std::unique_lock lock(mutex_);
  while (true) {
    wanted_.wait(lock, [&] { return stopping_ || first_unclaimed() < next_ + ahead_; });
    if (stopping_) return;
    const int64_t number = first_unclaimed();
    in_work_.insert(number);
    lock.unlock();
    Outcome outcome;
    try {
      outcome.batch = render_unless(stopped, make_scene_, shape_, seed_, number);
    } catch (const Stopped&) {
      return;
    } catch (const Error&) {
      outcome.error = std::current_exception();
    } catch (const std::exception& error) {
      outcome.error =
          std::make_exception_ptr(Error(fmt::format("rendering batch {}: {}", number, error.what())));
    }
    lock.lock();
    in_work_.erase(number);
    // The consumer may have gone elsewhere meanwhile.
    if (number >= next_ && number < next_ + ahead_) ready_.emplace(number, std::move(outcome));
    finished_.notify_all();
  }
}

SceneBatch SceneStream::take(int64_t number) {
  LACT_CHECK(number >= 0, "batch {} is asked for, expected 0 or more", number);
  std::unique_lock lock(mutex_);
  next_ = number;
  std::erase_if(ready_,
                [&](const auto& entry) { return entry.first < next_ || entry.first >= next_ + ahead_; });
  wanted_.notify_all();
  if (ready_.count(number) == 0) {
    const auto start = std::chrono::steady_clock::now();
    finished_.wait(lock, [&] { return ready_.count(number) > 0; });
    seconds_waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    ++times_waited_;
  }
  Outcome outcome = std::move(ready_.extract(number).mapped());
  next_ = number + 1;
  wanted_.notify_all();
  if (outcome.error) std::rethrow_exception(outcome.error);
  return std::move(outcome.batch);
}

double SceneStream::seconds_waited() const {
  const std::lock_guard lock(mutex_);
  return seconds_waited_;
}

int64_t SceneStream::times_waited() const {
  const std::lock_guard lock(mutex_);
  return times_waited_;
}

int64_t SceneStream::num_ready() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(ready_.size());
}

}  // namespace lact::data
