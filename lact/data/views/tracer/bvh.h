// Triangles sorted into nested boxes, so that a ray meets a few of them rather than all.
#pragma once

#include <cstdint>
#include <vector>

#include "lact/data/views/tracer/vec.h"

namespace lact::data::tracer {

struct Triangle {
  Vec3 corner;
  Vec3 edge_to_second, edge_to_third;
};

/// Where four rays met triangles first.
struct TriangleHit {
  Float4 distance = splat(kNothing);  ///< stays what it was where nothing nearer is met
  Mask4 triangle = Mask4{} - 1;       ///< its place in the tree's order; -1 for none
  /// The point is corner + of_second edge_to_second + of_third edge_to_third.
  Float4 of_second = Float4{}, of_third = Float4{};
};

class Bvh {
 public:
  /// At least one triangle, all numbers finite.
  explicit Bvh(const std::vector<Triangle>& triangles);

  /// `hit.distance` holds the limits of the search on entry; only `active` lanes are searched.
  void closest(const Ray4& ray, Mask4 active, TriangleHit& hit) const;
  /// Lanes with anything before `limit`.
  Mask4 occluded(const Ray4& ray, Mask4 active, Float4 limit) const;

  /// The triangles as given, in the order of the leaves: what is near in space is near in memory.
  const std::vector<int32_t>& order() const { return order_; }
  size_t bytes() const;

 private:
  struct Node {
    Vec3 low;
    int32_t first;  ///< of a leaf's triangles; of an inner node, its second child (the first follows it)
    Vec3 high;
    int16_t count;  ///< of triangles; 0: inner node
    int16_t axis;   ///< along which the children are apart
  };
  struct Builder;

  template <bool kAnyHit>
  void walk(const Ray4& ray, Mask4 active, TriangleHit& hit) const;

  std::vector<Node> nodes_;
  std::vector<Triangle> triangles_;  ///< in the order of the leaves
  std::vector<int32_t> order_;       ///< their indices as given
};

/// Moller and Trumbore's test of one triangle, both sides; improves `hit` in active lanes.
void meet_triangle(const Triangle& triangle, int32_t index, const Ray4& ray, Mask4 active, TriangleHit& hit);

}  // namespace lact::data::tracer
