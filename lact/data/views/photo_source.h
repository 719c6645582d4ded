// Views of captures to train on: a random stretch of a capture, of which some photos are read and others
// guessed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "lact/data/shared_lru.h"
#include "lact/data/views/capture.h"
#include "lact/data/views/count_range.h"
#include "lact/data/views/frame_choice.h"
#include "lact/data/views/holdout.h"
#include "lact/data/views/load_views.h"
#include "lact/data/views/scene_stream.h"
#include "lact/io/image_size.h"

namespace lact::data {

struct PhotoConfig {
  double photo_share = 0;
  std::vector<std::string> photos;
  CountRange stretch = 0;
  int64_t photo_holdout = 1;
  std::vector<std::string> photo_holdout_names;
  int64_t photo_every = 0;
  int64_t photo_cache = 1024;
  double zoom = 0;
  double turn = 0;
  CaptureOptions reading;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("photo_share", photo_share, "share of scenes that are photos; the others are rendered");
    field(
        "photos", photos,
        "captures: folders or camera files in any of the formats, folders of such folders, or lists of them "
        "(.json or .txt)");
    field("stretch", stretch,
          "photos in a row, of which inputs and targets are drawn at random, such as 64-128; 0: any number "
          "that suffices");
    field("photo_holdout", photo_holdout,
          "captures that are kept for validation, chosen by a hash of their name");
    field("photo_holdout_names", photo_holdout_names,
          "instead: captures with one of these in their name are kept for validation");
    field("photo_every", photo_every,
          "every n-th photo of each capture, from the first on, is never trained on: validation has to guess "
          "them where no capture is held out; 0: none");
    field("photo_cache", photo_cache, "megabytes of decoded and resized photos that are kept in memory");
    field("zoom", zoom,
          "training shows parts of photos: up to so much larger, at random places; 0.5 is 1 to 1.5 times, 0 "
          "shows them whole");
    field("turn", turn,
          "training turns each scene about its vertical by up to so many degrees, so that the model looks at "
          "the inputs instead of learning places by heart");
    field("reading", reading, "how camera files are read");
  }

  /// Throws one sentence for values that cannot work.
  void check() const;
};

/// Safe for several threads.
class PhotoSource {
 public:
  /// Reads all camera files. Where no capture is held out, the validation part has those of the training, and
  /// guesses the photos that photo_every holds out.
  PhotoSource(const PhotoConfig& config, ScenePart part, FrameChoice frame);

  int64_t num_scenes() const { return static_cast<int64_t>(scenes_.size()); }
  const std::string& name(int64_t scene) const { return scenes_[static_cast<size_t>(scene)].name; }

  /// Throws a sentence if a capture has too few photos for so many inputs and targets, which are apart.
  void check_counts(int64_t inputs, int64_t targets) const;

  /// As DrawViews: a capture, a stretch of it, inputs and targets.
  std::vector<Camera> draw(uint64_t seed, const BatchShape& shape, const StopCheck& stop_check,
                           float* pixels) const;

  /// Bytes of photos in memory.
  size_t cached_bytes() const { return pictures_.bytes(); }

 private:
  struct Scene {
    std::string name;
    Capture capture;
    std::vector<int64_t> shown, guessed;  ///< photos that inputs, and that targets are drawn from, in order
    SceneFrame object;                    ///< of all cameras, for FrameChoice::object
  };
  using PictureKey = std::tuple<int64_t, int64_t, int64_t, int64_t>;  ///< scene, view, height, width

  Scene read_scene(const NamedPath& file, const CaptureOptions& reading) const;
  /// Inputs first.
  std::vector<int64_t> draw_photos(const Scene& scene, Random& random, int64_t inputs, int64_t views) const;
  std::shared_ptr<const SizedView> picture(int64_t scene, int64_t view, io::ImageSize size) const;
  /// The whole photo, or with zoom a part of it.
  SizedView shown_part(int64_t scene, int64_t view, const BatchShape& shape, Random& random) const;

  CountRange stretch_;
  FrameChoice frame_;
  int64_t every_;               ///< photos of which one is guessed; 0: all may be
  bool guesses_;                ///< those instead of training on the others
  double zoom_ = 0, turn_ = 0;  ///< of training
  std::vector<Scene> scenes_;
  mutable SharedLru<PictureKey, SizedView> pictures_;
};

}  // namespace lact::data
