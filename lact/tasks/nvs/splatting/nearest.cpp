#include "lact/tasks/nvs/splatting/nearest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include "lact/ops/dispatch/work_items.h"

namespace lact::tasks::nvs {

namespace {

constexpr size_t kNeighbours = 3;

/// A k-d tree in place: the middle of a range divides it along one axis, axis after axis.
class PointTree {
 public:
  explicit PointTree(const std::vector<data::Point>& points) : points_(points), order_(points.size()) {
    std::iota(order_.begin(), order_.end(), size_t(0));
    divide(0, order_.size(), 0);
  }

  /// Squared distances to the points nearest to `index`, ascending; infinite where there are fewer.
  std::array<double, kNeighbours> nearest(size_t index) const {
    std::array<double, kNeighbours> best;
    best.fill(std::numeric_limits<double>::infinity());
    look(0, order_.size(), 0, index, best);
    return best;
  }

 private:
  void divide(size_t begin, size_t end, size_t axis) {
    if (end - begin < 2) return;
    const size_t middle = (begin + end) / 2;
    std::nth_element(order_.begin() + int64_t(begin), order_.begin() + int64_t(middle),
                     order_.begin() + int64_t(end), [&](size_t a, size_t b) {
                       return points_[a][axis] < points_[b][axis] ||
                              (points_[a][axis] == points_[b][axis] && a < b);
                     });
    divide(begin, middle, (axis + 1) % 3);
    divide(middle + 1, end, (axis + 1) % 3);
  }

  void look(size_t begin, size_t end, size_t axis, size_t index,
            std::array<double, kNeighbours>& best) const {
    if (begin >= end) return;
    const size_t middle = (begin + end) / 2, other = order_[middle];
    const data::Point gap = data::difference(points_[other], points_[index]);
    if (other != index) insert(best, data::dot(gap, gap));
    const bool left_first = gap[axis] > 0;
    const auto left = [&] { look(begin, middle, (axis + 1) % 3, index, best); };
    const auto right = [&] { look(middle + 1, end, (axis + 1) % 3, index, best); };
    left_first ? left() : right();
    if (gap[axis] * gap[axis] <= best.back()) left_first ? right() : left();
  }

  static void insert(std::array<double, kNeighbours>& best, double distance) {
    if (distance >= best.back()) return;
    best.back() = distance;
    std::sort(best.begin(), best.end());
  }

  const std::vector<data::Point>& points_;
  std::vector<size_t> order_;
};

}  // namespace

std::vector<double> neighbour_distances(const std::vector<data::Point>& points) {
  const PointTree tree(points);
  std::vector<double> distances(points.size());
  constexpr int64_t kEach = 1024;
  const auto count = int64_t(points.size());
  ops::for_each_item((count + kEach - 1) / kEach, [&](int64_t item, int64_t) {
    for (int64_t i = item * kEach; i < std::min(count, (item + 1) * kEach); ++i) {
      double sum = 0;
      int64_t found = 0;
      for (const double square : tree.nearest(size_t(i))) {
        if (!std::isfinite(square)) continue;
        sum += square;
        ++found;
      }
      distances[size_t(i)] = found > 0 ? std::sqrt(sum / double(found)) : 0;
    }
  });
  return distances;
}

}  // namespace lact::tasks::nvs
