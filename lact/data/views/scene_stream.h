// Numbered batches of rendered views, made ahead of their use by background threads.
#pragma once

#include <ATen/core/Tensor.h>

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "lact/data/views/tracer/scene.h"

namespace lact::data {

struct BatchShape {
  int64_t scenes = 4;
  int64_t views = 8;  ///< of each scene
  int64_t height = 64;
  int64_t width = 64;
  int64_t inputs = 0;  ///< the first views, which the others may stand near
  double near = 0;     ///< share of the other views that stand within kNearDegrees of one of these
};

struct SceneBatch {
  int64_t number = 0;
  at::Tensor images;           ///< float32 [B, V, 3, H, W] in [0, 1]
  at::Tensor intrinsics;       ///< float32 [B, V, 4]: fx, fy, cx, cy in pixels
  at::Tensor camera_to_world;  ///< float32 [B, V, 4, 4]
};

/// A scene for a seed; called from several threads at once.
using SceneMaker = std::function<tracer::Scene(uint64_t seed)>;

/// Renders a batch here and now. The seed and the number decide everything in it.
SceneBatch render_batch(const SceneMaker& make_scene, const BatchShape& shape, uint64_t seed, int64_t number);

struct StreamOptions {
  int threads = 1;
  int64_t ahead = 4;  ///< batches that wait for their use, at most
};

class SceneStream {
 public:
  SceneStream(SceneMaker make_scene, const BatchShape& shape, uint64_t seed,
              const StreamOptions& options = {});
  /// Ends the threads; a picture that is being rendered is finished first.
  ~SceneStream();
  SceneStream(const SceneStream&) = delete;
  SceneStream& operator=(const SceneStream&) = delete;

  /// The batch of this number, from 0. The ones after it are being made meanwhile, so that counting up does
  /// not wait; any other order gives the same batches. What went wrong in a thread is thrown here, as an
  /// Error. For one thread at a time.
  SceneBatch take(int64_t number);

  /// How long `take` has waited for batches in total, and how often it had to.
  double seconds_waited() const;
  int64_t times_waited() const;
  /// Batches that are ready now.
  int64_t num_ready() const;

 private:
  struct Outcome {
    SceneBatch batch;
    std::exception_ptr error;
  };

  void work();
  void stop();
  int64_t first_unclaimed() const;

  const SceneMaker make_scene_;
  const BatchShape shape_;
  const uint64_t seed_;
  const int64_t ahead_;

  mutable std::mutex mutex_;
  std::condition_variable wanted_;    ///< there may be a batch to make
  std::condition_variable finished_;  ///< there may be a batch to take
  int64_t next_ = 0;                  ///< batches next_, ..., next_ + ahead_ - 1 are made
  std::map<int64_t, Outcome> ready_;
  std::set<int64_t> in_work_;
  bool stopping_ = false;
  double seconds_waited_ = 0;
  int64_t times_waited_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace lact::data
