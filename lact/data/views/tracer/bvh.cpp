#include "lact/data/views/tracer/bvh.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "lact/base/error.h"

namespace lact::data::tracer {

namespace {

constexpr int kBins = 16;
constexpr int kMaxLeaf = 4;
constexpr int kMaxDepth = 60;  // of the tree, and so of the stack

float component(const Vec3& vector, int axis) {
  return axis == 0 ? vector.x : axis == 1 ? vector.y : vector.z;
}

struct Box {
  Vec3 low{kNothing, kNothing, kNothing};
  Vec3 high{-kNothing, -kNothing, -kNothing};

  void add(const Vec3& point) {
    low = {lower(low.x, point.x), lower(low.y, point.y), lower(low.z, point.z)};
    high = {higher(high.x, point.x), higher(high.y, point.y), higher(high.z, point.z)};
  }
  void add(const Box& box) {
    add(box.low);
    add(box.high);
  }
  float half_area() const {
    const Vec3 side = high - low;
    return side.x * side.y + side.y * side.z + side.z * side.x;
  }
};

Box box_of(const Triangle& triangle) {
  Box box;
  box.add(triangle.corner);
  box.add(triangle.corner + triangle.edge_to_second);
  box.add(triangle.corner + triangle.edge_to_third);
  return box;
}

// Inside the walk a call would cost as much as the test.
[[gnu::always_inline]] inline void test_triangle(const Triangle& triangle, int32_t index, const Ray4& ray,
                                                 Mask4 active, TriangleHit& hit) {
  const Vec3x4 second = splat(triangle.edge_to_second);
  const Vec3x4 third = splat(triangle.edge_to_third);
  const Vec3x4 across = cross(ray.direction, third);
  const Float4 inverse =
      1.0F / dot(second, across);  // infinite for a ray in the plane: then nothing below holds
  const Vec3x4 offset = ray.origin - splat(triangle.corner);
  const Float4 of_second = dot(offset, across) * inverse;
  const Vec3x4 upwards = cross(offset, second);
  const Float4 of_third = dot(ray.direction, upwards) * inverse;
  const Float4 distance = dot(third, upwards) * inverse;
  const Mask4 better = active & (of_second >= 0) & (of_third >= 0) & (of_second + of_third <= 1) &
                       (distance > kNearest) & (distance < hit.distance);
  if (!any(better)) return;
  hit.distance = select(better, distance, hit.distance);
  hit.of_second = select(better, of_second, hit.of_second);
  hit.of_third = select(better, of_third, hit.of_third);
  hit.triangle = select(better, Mask4{} + index, hit.triangle);
}

struct Split {
  float cost = kNothing;
  int axis = -1;
  int bin = 0;  ///< the last one that goes to the first child
};

}  // namespace

/// Splits where the expected number of tests is least (surface area heuristic over bins).
struct Bvh::Builder {
  Bvh& tree;
  std::vector<Box> boxes;
  std::vector<Vec3> centres;
  std::vector<int32_t>& order;

  int bin_of(int32_t triangle, const Box& range, int axis) const {
    const float low = component(range.low, axis);
    const float width = component(range.high, axis) - low;
    const float share = (component(centres[static_cast<size_t>(triangle)], axis) - low) / width;
    return std::min(static_cast<int>(share * kBins), kBins - 1);
  }

  Split best_split(int begin, int end, const Box& range) const {
    Split best;
    for (int axis = 0; axis < 3; ++axis) {
      if (!(component(range.high, axis) > component(range.low, axis))) continue;
      std::array<Box, kBins> bins;
      std::array<int, kBins> counts{};
      for (int i = begin; i < end; ++i) {
        const auto bin = static_cast<size_t>(bin_of(order[static_cast<size_t>(i)], range, axis));
        bins[bin].add(boxes[static_cast<size_t>(order[static_cast<size_t>(i)])]);
        ++counts[bin];
      }
      std::array<float, kBins> cost_after{};
      Box after;
      int count = 0;
      for (size_t bin = kBins - 1; bin > 0; --bin) {
        if (counts[bin] > 0) after.add(bins[bin]);
        count += counts[bin];
        cost_after[bin - 1] = count > 0 ? after.half_area() * static_cast<float>(count) : kNothing;
      }
      Box before;
      count = 0;
      for (size_t bin = 0; bin + 1 < kBins; ++bin) {
        if (counts[bin] > 0) before.add(bins[bin]);
        count += counts[bin];
        if (count == 0) continue;
        const float cost = before.half_area() * static_cast<float>(count) + cost_after[bin];
        if (cost < best.cost) best = {cost, axis, static_cast<int>(bin)};
      }
    }
    return best;
  }

  void build(int begin, int end, int depth) {
    Box box, range;
    for (int i = begin; i < end; ++i) {
      const auto triangle = static_cast<size_t>(order[static_cast<size_t>(i)]);
      box.add(boxes[triangle]);
      range.add(centres[triangle]);
    }
    const size_t node = tree.nodes_.size();
    tree.nodes_.push_back(
        {box.low, begin, box.high, static_cast<int16_t>(std::min(end - begin, kMaxLeaf)), 0});
    if (end - begin <= kMaxLeaf) return;
    const Split split = best_split(begin, end, range);
    int middle = (begin + end) / 2;  // where centres coincide, or the tree would grow too deep
    if (split.axis >= 0 && depth < kMaxDepth / 2) {
      const auto in_first = [&](int32_t triangle) {
        return bin_of(triangle, range, split.axis) <= split.bin;
      };
      middle = static_cast<int>(std::stable_partition(order.begin() + begin, order.begin() + end, in_first) -
                                order.begin());
    }
    build(begin, middle, depth + 1);
    const auto second = static_cast<int32_t>(tree.nodes_.size());
    build(middle, end, depth + 1);
    tree.nodes_[node].first = second;
    tree.nodes_[node].count = 0;
    tree.nodes_[node].axis = static_cast<int16_t>(std::max(split.axis, 0));
  }
};

Bvh::Bvh(const std::vector<Triangle>& triangles) {
  LACT_ASSERT(!triangles.empty());
  LACT_ASSERT(triangles.size() < size_t{1} << 29);
  order_.resize(triangles.size());
  std::iota(order_.begin(), order_.end(), 0);
  Builder builder{*this, {}, {}, order_};
  for (const Triangle& triangle : triangles) {
    builder.boxes.push_back(box_of(triangle));
    builder.centres.push_back((builder.boxes.back().low + builder.boxes.back().high) * 0.5F);
  }
  builder.build(0, static_cast<int>(triangles.size()), 0);
  for (const int32_t index : order_) triangles_.push_back(triangles[static_cast<size_t>(index)]);
}

void meet_triangle(const Triangle& triangle, int32_t index, const Ray4& ray, Mask4 active, TriangleHit& hit) {
  test_triangle(triangle, index, ray, active, hit);
}

template <bool kAnyHit>
void Bvh::walk(const Ray4& ray, Mask4 active, TriangleHit& hit) const {
  const auto inverse_of = [](Float4 direction) {
    const Float4 tiny = select(direction < 0, splat(-1e-12F), splat(1e-12F));
    return 1.0F / select(magnitude(direction) < 1e-12F, tiny, direction);
  };
  const Vec3x4 inverse{inverse_of(ray.direction.x), inverse_of(ray.direction.y), inverse_of(ray.direction.z)};
  const Vec3x4 start = ray.origin * inverse;
  // The rays of a packet are close together: the first one tells which child comes first.
  const std::array<bool, 3> backwards = {ray.direction.x[0] < 0, ray.direction.y[0] < 0,
                                         ray.direction.z[0] < 0};
  std::array<int32_t, kMaxDepth + 4> waiting;
  int num_waiting = 0;
  int32_t index = 0;
  while (true) {
    const Node& node = nodes_[static_cast<size_t>(index)];
    const Float4 low_x = node.low.x * inverse.x - start.x, high_x = node.high.x * inverse.x - start.x;
    const Float4 low_y = node.low.y * inverse.y - start.y, high_y = node.high.y * inverse.y - start.y;
    const Float4 low_z = node.low.z * inverse.z - start.z, high_z = node.high.z * inverse.z - start.z;
    const Float4 enter = higher(higher(lower(low_x, high_x), lower(low_y, high_y)), lower(low_z, high_z));
    const Float4 leave = lower(lower(higher(low_x, high_x), higher(low_y, high_y)), higher(low_z, high_z));
    const Mask4 met = active & (enter <= leave * 1.00001F) & (leave > 0) & (enter < hit.distance);
    if (any(met)) {
      if (node.count == 0) {
        const bool second_first = backwards[static_cast<size_t>(node.axis)];
        waiting[static_cast<size_t>(num_waiting++)] = second_first ? index + 1 : node.first;
        index = second_first ? node.first : index + 1;
        continue;
      }
      for (int32_t i = node.first; i < node.first + node.count; ++i) {
        test_triangle(triangles_[static_cast<size_t>(i)], i, ray, met, hit);
      }
      if constexpr (kAnyHit) {
        active = active & (hit.triangle < 0);
        if (!any(active)) return;
      }
    }
    if (num_waiting == 0) return;
    index = waiting[static_cast<size_t>(--num_waiting)];
  }
}

void Bvh::closest(const Ray4& ray, Mask4 active, TriangleHit& hit) const {
  hit.triangle = Mask4{} - 1;
  walk<false>(ray, active, hit);
}

Mask4 Bvh::occluded(const Ray4& ray, Mask4 active, Float4 limit) const {
  TriangleHit hit;
  hit.distance = limit;
  walk<true>(ray, active, hit);
  return hit.triangle >= 0;
}

size_t Bvh::bytes() const {
  return nodes_.size() * sizeof(Node) + triangles_.size() * (sizeof(Triangle) + sizeof(int32_t));
}

}  // namespace lact::data::tracer
