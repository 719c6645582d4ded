// A folder, or a checkpoint file, becomes a view-synthesis model.
#pragma once

#include <memory>
#include <string>

#include "lact/data/views/frame_choice.h"
#include "lact/models/nvs/view_model.h"
#include "lact/ops/dispatch/precision.h"

namespace lact::tasks::nvs {

struct LoadOptions {
  ops::Precision precision = ops::Precision::automatic;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("precision", precision, "f32, bf16, or auto: bf16 where this processor multiplies it faster");
  }
  bool operator==(const LoadOptions&) const = default;
};

struct Loaded {
  std::shared_ptr<models::ViewModel> model;
  std::string path;  ///< the folder or checkpoint file
  std::string fingerprint;
};

/// The weights that come with the program; "" where there are none.
std::string shipped_weights();

/// "": the shipped weights.
Loaded load(const std::string& folder_or_file, const LoadOptions& options = {});

/// The model that a scene file was made with: the named one, or if that is "" the one at the place that the
/// file remembers, or the shipped weights.
Loaded load_for_scene(const std::string& scene_file, const std::string& folder_or_file,
                      const LoadOptions& options = {});

/// The size of views and the coordinates of scenes that a model was trained on last, or the usual ones where
/// nothing tells.
io::ImageSize trained_size(const Loaded& nvs);
data::FrameChoice trained_frame(const Loaded& nvs);

}  // namespace lact::tasks::nvs
