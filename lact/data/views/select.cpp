#include "lact/data/views/select.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "lact/base/error.h"
#include "lact/base/random.h"
#include "lact/data/views/normalize.h"

namespace lact::data {

namespace {

constexpr int kMostRounds = 100;

/// Position, in the frame where all positions are within [-1, 1], and direction of sight.
using ViewFeature = std::array<double, 6>;

std::vector<ViewFeature> view_features(const std::vector<Camera>& cameras,
                                       const std::vector<int64_t>& candidates) {
  std::vector<Camera> chosen;
  for (const int64_t index : candidates) chosen.push_back(cameras[index]);
  std::vector<ViewFeature> features;
  for (const Camera& camera : to_scene(mean_pose_frame(chosen), chosen)) {
    const Point position = column(camera.camera_to_world, 3), forward = column(camera.camera_to_world, 2);
    features.push_back({position[0], position[1], position[2], forward[0], forward[1], forward[2]});
  }
  return features;
}

double squared_distance(const ViewFeature& a, const ViewFeature& b) {
  double total = 0;
  for (size_t i = 0; i < a.size(); ++i) total += (a[i] - b[i]) * (a[i] - b[i]);
  return total;
}

size_t nearest_center(const std::vector<ViewFeature>& centers, const ViewFeature& feature) {
  size_t best = 0;
  for (size_t i = 1; i < centers.size(); ++i)
    if (squared_distance(centers[i], feature) < squared_distance(centers[best], feature)) best = i;
  return best;
}

/// k-means++: each new centre is a view, as likely as its squared distance to the centres before.
std::vector<ViewFeature> first_centers(const std::vector<ViewFeature>& features, size_t count,
                                       Random& random) {
  std::vector<ViewFeature> centers = {random.choice(features)};
  std::vector<double> distances(features.size(), std::numeric_limits<double>::infinity());
  while (centers.size() < count) {
    for (size_t i = 0; i < features.size(); ++i)
      distances[i] = std::min(distances[i], squared_distance(features[i], centers.back()));
    double left = random.uniform() * std::accumulate(distances.begin(), distances.end(), 0.0);
    size_t next = 0;
    while (next + 1 < features.size() && left >= distances[next]) left -= distances[next++];
    centers.push_back(features[next]);
  }
  return centers;
}

std::vector<ViewFeature> cluster_centers(const std::vector<ViewFeature>& features, size_t count,
                                         Random& random) {
  std::vector<ViewFeature> centers = first_centers(features, count, random);
  std::vector<size_t> owners(features.size(), count);
  for (int round = 0; round < kMostRounds; ++round) {
    std::vector<size_t> now;
    for (const auto& feature : features) now.push_back(nearest_center(centers, feature));
    if (now == owners) break;
    owners = std::move(now);
    std::vector<ViewFeature> sums(count, ViewFeature{});
    std::vector<int64_t> members(count, 0);
    for (size_t i = 0; i < features.size(); ++i) {
      for (size_t k = 0; k < sums[owners[i]].size(); ++k) sums[owners[i]][k] += features[i][k];
      ++members[owners[i]];
    }
    for (size_t c = 0; c < count; ++c)
      for (size_t k = 0; members[c] > 0 && k < centers[c].size(); ++k)
        centers[c][k] = sums[c][k] / static_cast<double>(members[c]);
  }
  return centers;
}

/// One view per cluster, the one nearest to its centre that no earlier cluster took.
std::vector<int64_t> clustered_views(const std::vector<Camera>& cameras,
                                     const std::vector<int64_t>& candidates, int64_t count, uint64_t seed) {
  const auto features = view_features(cameras, candidates);
  Random random(seed);
  std::vector<bool> taken(features.size(), false);
  std::vector<int64_t> chosen;
  for (const auto& center : cluster_centers(features, static_cast<size_t>(count), random)) {
    size_t best = features.size();
    for (size_t i = 0; i < features.size(); ++i) {
      if (taken[i]) continue;
      if (best == features.size() ||
          squared_distance(features[i], center) < squared_distance(features[best], center))
        best = i;
    }
    taken[best] = true;
    chosen.push_back(candidates[best]);
  }
  return chosen;
}

}  // namespace

std::vector<int64_t> choose_views(const std::vector<Camera>& cameras, std::vector<int64_t> candidates,
                                  int64_t count, ViewChoice choice, uint64_t seed) {
  const auto available = static_cast<int64_t>(candidates.size());
  LACT_CHECK(count >= 0 && count <= available, "{} views were asked for, but there are {} to choose from",
             count, available);
  std::vector<int64_t> chosen;
  if (count == available || count == 0) {
    if (count > 0) chosen = std::move(candidates);
  } else if (choice == ViewChoice::random) {
    Random(seed).shuffle(candidates);
    chosen.assign(candidates.begin(), candidates.begin() + count);
  } else if (choice == ViewChoice::every_nth) {
    for (int64_t i = 0; i < count; ++i) chosen.push_back(candidates[i * available / count]);
  } else {
    chosen = clustered_views(cameras, candidates, count, seed);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

ViewSplit select_views(const std::vector<Camera>& cameras, const ViewSelection& selection) {
  const auto count = static_cast<int64_t>(cameras.size());
  LACT_CHECK(count > 0, "the scene has no views");
  LACT_CHECK(selection.num_inputs >= 0 && selection.num_targets >= 0 && selection.target_every >= 0,
             "{} input views, {} target views and a target every {} views were asked for, expected 0 or more",
             selection.num_inputs, selection.num_targets, selection.target_every);
  std::vector<int64_t> all(count);
  std::iota(all.begin(), all.end(), 0);
  ViewSplit split;
  if (selection.target_every == 0) {
    split.targets = choose_views(cameras, all, selection.num_targets, ViewChoice::random,
                                 mix(selection.seed, /*purpose=*/1));
  } else {
    for (int64_t i = 0; i < count; i += selection.target_every) split.targets.push_back(i);
    const auto found = static_cast<int64_t>(split.targets.size());
    if (selection.num_targets > 0 && selection.num_targets < found)
      split.targets = choose_views(cameras, split.targets, selection.num_targets, ViewChoice::every_nth, 0);
  }
  std::vector<int64_t> rest;
  std::set_difference(all.begin(), all.end(), split.targets.begin(), split.targets.end(),
                      std::back_inserter(rest));
  const auto left = static_cast<int64_t>(rest.size());
  LACT_CHECK(left > 0 && selection.num_inputs <= left,
             "{} input views were asked for, but of {} views {} are targets and {} are left",
             selection.num_inputs, count, split.targets.size(), left);
  split.inputs = choose_views(cameras, rest, selection.num_inputs == 0 ? left : selection.num_inputs,
                              selection.inputs, mix(selection.seed, /*purpose=*/2));
  return split;
}

}  // namespace lact::data
