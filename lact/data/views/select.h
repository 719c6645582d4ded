// Which views of a scene a model reads, and which it has to guess.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "lact/data/views/camera.h"

namespace lact::data {

enum class ViewChoice {
  random,
  every_nth,  ///< evenly along the order of the views: every n-th
  kmeans,     ///< the views nearest to the centres of clusters of positions and directions (paper, appendix)
};

inline std::array<std::pair<ViewChoice, const char*>, 3> enum_names(ViewChoice) {
  return {
      {{ViewChoice::random, "random"}, {ViewChoice::every_nth, "every_nth"}, {ViewChoice::kmeans, "kmeans"}}};
}

/// Targets are taken first, inputs from what is left, so that no target is ever read. The default is the
/// paper's: every eighth view is a target, the inputs are the clusters of the others.
struct ViewSelection {
  ViewChoice inputs = ViewChoice::kmeans;
  int64_t num_inputs = 0;    ///< 0: all views that are not targets
  int64_t target_every = 8;  ///< every n-th view from the first is a target; 0: num_targets random ones
  int64_t num_targets = 0;   ///< with target_every: at most so many of them, spread evenly; 0: all of them
  uint64_t seed = 0;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("inputs", inputs, "choice of the input views: random, every_nth or kmeans");
    field("num_inputs", num_inputs, "input views; 0: all that are not targets");
    field("target_every", target_every, "every n-th view is a target; 0: num_targets random ones");
    field("num_targets", num_targets, "most target views; 0: no limit");
    field("seed", seed, "of the random choices");
  }
};

struct ViewSplit {
  std::vector<int64_t> inputs, targets;  ///< ascending
};

/// The same cameras and selection always give the same split.
ViewSplit select_views(const std::vector<Camera>& cameras, const ViewSelection& selection);

/// `count` of the candidates, ascending.
std::vector<int64_t> choose_views(const std::vector<Camera>& cameras, std::vector<int64_t> candidates,
                                  int64_t count, ViewChoice choice, uint64_t seed);

}  // namespace lact::data
