#include "lact/io/ply.h"

#include <gtest/gtest.h>

#include "support/errors.h"

namespace lact::io {
namespace {

const std::string kThree =
    "ply\nformat ascii 1.0\nelement point 3\nproperty float x\nproperty uchar y\nend_header\n";

TEST(Ply, ElementsAndTheirPropertiesAreFoundByName) {
  const PlyHeader header = read_ply_header("a.ply", kThree + "1 2 3 4 5 6", 10);
  EXPECT_TRUE(header.text);
  ASSERT_NE(header.find("point"), nullptr);
  EXPECT_EQ(header.find("points"), nullptr);
  EXPECT_EQ(header.find("point")->find("y"), 1);
  EXPECT_EQ(header.find("point")->find("z"), -1);
  EXPECT_EQ(header.bytes, kThree.size());
}

TEST(Ply, ColumnsGoWhereTheyAreWanted) {
  const std::string file = kThree + "1.5 2\n3 4\n-5 6\n\n";
  const PlyHeader header = read_ply_header("a.ply", file, 10);
  float places[6] = {};
  PlyValues values("a.ply", std::string_view(file).substr(header.bytes), header);
  values.read(header.elements[0], {{}, {places, 2}});
  values.expect_end();
  EXPECT_EQ(places[0], 2);
  EXPECT_EQ(places[2], 4);
  EXPECT_EQ(places[4], 6);
  EXPECT_EQ(places[1], 0);
}

TEST(Ply, TheLimitAndTheEndAreHeld) {
  EXPECT_SENTENCE(read_ply_header("a.ply", kThree + "1 2 3 4 5 6", 2),
                  "3 elements \"point\", expected at most 2");
  EXPECT_SENTENCE(read_ply_header("a.ply", kThree + "1 2 3 4", 10), "take at least 12 bytes, but 8 are left");
  const std::string file = kThree + "1 2 3 4 5 6 7";
  const PlyHeader header = read_ply_header("a.ply", file, 10);
  PlyValues values("a.ply", std::string_view(file).substr(header.bytes), header);
  values.skip(header.elements[0]);
  EXPECT_SENTENCE(values.expect_end(), "a.ply: 1 bytes are left behind the last element");
}

}  // namespace
}  // namespace lact::io
