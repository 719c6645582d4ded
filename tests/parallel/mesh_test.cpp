#include "lact/parallel/mesh.h"

#include <gtest/gtest.h>

#include "support/errors.h"

namespace lact::parallel {
namespace {

TEST(Mesh, ReadsAxesInAnyOrder) {
  EXPECT_EQ(parse_mesh("data=2,context=3,tensor=4"), (Mesh{2, 3, 4}));
  EXPECT_EQ(parse_mesh("tensor=4"), (Mesh{1, 1, 4}));
  EXPECT_EQ(parse_mesh("context=2,data=5"), (Mesh{5, 2, 1}));
  EXPECT_EQ(parse_mesh(to_string({2, 3, 4})), (Mesh{2, 3, 4}));
  EXPECT_EQ(parse_mesh("data=2,context=3,tensor=4").ranks(), 24);
}

TEST(Mesh, RefusesWhatIsNoMesh) {
  EXPECT_SENTENCE(parse_mesh(""), "expected axes like data=2");
  EXPECT_SENTENCE(parse_mesh("data"), "expected axes like data=2");
  EXPECT_SENTENCE(parse_mesh("data=2,"), "expected axes like data=2");
  EXPECT_SENTENCE(parse_mesh("dat=2"), "names the axis \"dat\"");
  EXPECT_SENTENCE(parse_mesh("data=2,data=2"), "each at most once");
  EXPECT_SENTENCE(parse_mesh("data=0"), "expected a number from 1");
  EXPECT_SENTENCE(parse_mesh("data=-1"), "expected a number from 1");
  EXPECT_SENTENCE(parse_mesh("data=2x"), "expected a number from 1");
  EXPECT_SENTENCE(parse_mesh("data=99999999999999999999"), "expected a number from 1");
  EXPECT_SENTENCE(parse_mesh("data=1000000,context=1000000,tensor=1000000"), "more than");
}

TEST(Mesh, PlacesAndRanksAreInverse) {
  const Mesh mesh = {2, 3, 4};
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
    EXPECT_EQ(rank_of(place_of(rank, mesh), mesh), rank);
  }
  // Heads move most often: the ranks of a tensor axis are neighbours.
  EXPECT_EQ(place_of(1, mesh), (Place{0, 0, 1}));
  EXPECT_EQ(place_of(4, mesh), (Place{0, 1, 0}));
  EXPECT_EQ(place_of(12, mesh), (Place{1, 0, 0}));
}

}  // namespace
}  // namespace lact::parallel
