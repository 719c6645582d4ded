#include "lact/io/gaussian_ply.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "io/gaussian_bytes.h"
#include "support/damage.h"
#include "support/errors.h"
#include "support/temporary_folder.h"
#include "support/watched_memory.h"

namespace lact::io {
namespace {

using testing::gaussians_of;
using testing::plain_properties;
using testing::ply_of;
using testing::read_file;
using testing::write_file;

class GaussianPly : public ::testing::Test {
 protected:
  ops::Gaussians read(const std::string& bytes) {
    write_file(folder_ / "a.ply", bytes);
    return read_gaussians(folder_ / "a.ply");
  }
  testing::TemporaryFolder folder_;
};

void expect_same_bits(const ops::Gaussians& a, const ops::Gaussians& b) {
  for (size_t i = 0; i < ops::kGaussianFields.size(); ++i)
    EXPECT_TRUE(a.fields()[i]->equal(*b.fields()[i])) << ops::kGaussianFields[i];
}

TEST_F(GaussianPly, ComesBackBitForBitWithAnyDegreeAndNumber) {
  for (const int64_t coefficients : {1, 4, 9, 16}) {
    for (const int64_t count : {1, 7, 5000}) {
      const ops::Gaussians gaussians = gaussians_of(count, coefficients);
      write_gaussians(folder_ / "b.ply", gaussians);
      expect_same_bits(read_gaussians(folder_ / "b.ply"), gaussians);
    }
  }
}

TEST_F(GaussianPly, IsWrittenInTheUsualLayout) {
  const ops::Gaussians gaussians = gaussians_of(3, 4);
  write_gaussians(folder_ / "b.ply", gaussians);
  const std::string bytes = read_file(folder_ / "b.ply");
  const size_t head = bytes.find("end_header\n") + 11;
  ASSERT_EQ(bytes.size(), head + 3 * 4 * (3 + 3 + 12 + 1 + 3 + 4));
  const auto number = [&](int64_t vertex, int64_t property) {
    float value = 0;
    std::memcpy(&value, bytes.data() + head + 4 * (size_t(vertex) * 26 + size_t(property)), 4);
    return value;
  };
  EXPECT_EQ(number(1, 2), gaussians.means[1][2].item<float>());
  EXPECT_EQ(number(1, 4), 0);                                           // ny
  EXPECT_EQ(number(2, 7), gaussians.harmonics[2][0][1].item<float>());  // f_dc_1
  EXPECT_EQ(number(2, 9), gaussians.harmonics[2][1][0].item<float>());  // f_rest_0: red
  EXPECT_EQ(number(2, 11), gaussians.harmonics[2][3][0].item<float>());
  EXPECT_EQ(number(2, 12), gaussians.harmonics[2][1][1].item<float>());  // f_rest_3: green
  EXPECT_EQ(number(0, 18), gaussians.opacity_logits[0].item<float>());
  EXPECT_EQ(number(0, 21), gaussians.log_scales[0][2].item<float>());
  EXPECT_EQ(number(0, 22), gaussians.quaternions[0][0].item<float>());
}

TEST_F(GaussianPly, DoublesAreWrittenAsFloatsAndGradientsStayBehind) {
  ops::Gaussians gaussians = ops::map_fields(
      gaussians_of(3, 1), [](const at::Tensor& field) { return field.to(at::kDouble).requires_grad_(true); });
  write_gaussians(folder_ / "b.ply", gaussians);
  const ops::Gaussians again = read_gaussians(folder_ / "b.ply");
  EXPECT_TRUE(again.means.equal(gaussians.means.detach().to(at::kFloat)));
}

TEST_F(GaussianPly, TextBothByteOrdersOtherTypesAndOtherOrdersAreTheSame) {
  const ops::Gaussians gaussians = gaussians_of(5, 9);
  for (const char* format : {"ascii", "binary_little_endian", "binary_big_endian"}) {
    auto properties = plain_properties(gaussians);
    expect_same_bits(read(ply_of(format, 5, properties)), gaussians);
    std::reverse(properties.begin(), properties.end());
    properties.insert(properties.begin() + 3, {"uchar", "red", [](int64_t) { return 255.0; }});
    properties.push_back({"short", "label", [](int64_t i) { return double(-i); }});
    properties.push_back({"uchar", "nx", [](int64_t) { return 0.0; }});
    for (auto& property : properties)
      if (property.name.starts_with("rot_")) property.type = "double";
    expect_same_bits(read(ply_of(format, 5, properties)), gaussians);
  }
}

TEST_F(GaussianPly, CommentsMayHoldAnythingAndOtherElementsArePassedOver) {
  const ops::Gaussians gaussians = gaussians_of(2, 1);
  std::string bytes = ply_of("binary_little_endian", 2, plain_properties(gaussians));
  const std::string comment =
      "comment end_header\ncomment element vertex 9\nobj_info property list x\nelement nothing 4\n"
      "element extra 1\nproperty list uchar int indices\n";
  bytes.insert(bytes.find("element vertex"), comment);
  const size_t head = bytes.find("\nend_header\n") + 12;
  bytes.insert(head, std::string("\x01\x00\x00\x00\x00", 5));
  expect_same_bits(read(bytes), gaussians);
  bytes.erase(bytes.find("\nend_header") + 1, 10);
  EXPECT_SENTENCE(read(bytes), "the header has no end_header");
}

TEST_F(GaussianPly, FilesThatHoldNoGaussiansAreRefusedInASentence) {
  const auto properties = plain_properties(gaussians_of(2, 4));
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string bytes = ply_of("binary_little_endian", 2, properties);
    return bytes.replace(bytes.find(from), from.size(), to);
  };
  EXPECT_SENTENCE(read("nothing"), "does not begin with the line ply");
  EXPECT_SENTENCE(read(changed("opacity", "opicaty")), "vertices have no property opacity");
  EXPECT_SENTENCE(read(changed("f_rest_8", "f_rost_8")), "8 properties f_rest_, expected 0, 9, 24 or 45");
  EXPECT_SENTENCE(read(changed("f_rest_8", "f_rest_9")), "there is none of number 8");
  EXPECT_SENTENCE(read(changed("element vertex", "element corner")), "has no element vertex");
  EXPECT_SENTENCE(read(changed("float scale_1", "list uchar float scale_1")), "scale_1 is a list");
  EXPECT_SENTENCE(read(changed("vertex 2", "vertex 3")), "bytes, but");
  EXPECT_SENTENCE(read(changed("vertex 2", "vertex 1")), "bytes are left behind the last element");
  EXPECT_SENTENCE(read(changed("vertex 2", "vertex 0")), "holds no Gaussians");
  EXPECT_SENTENCE(read(changed("vertex 2", "vertex 18446744073709551615")), "expected at most 200000000");
  EXPECT_SENTENCE(read(changed("vertex 2", "vertex -2")), "a name and a whole number");
  EXPECT_SENTENCE(read(changed("float z", "float128 z")), "a property has the type \"float128\"");
  const std::string good = ply_of("binary_little_endian", 2, properties);
  EXPECT_SENTENCE(read(good.substr(0, good.size() - 1)), "bytes, but");
  EXPECT_SENTENCE(read_gaussians(folder_ / "none.ply"), "none.ply");
  EXPECT_SENTENCE(read_gaussians(folder_ / ""), "");
}

TEST_F(GaussianPly, NumbersThatAreNoneAreRefusedByTheirName) {
  for (const char* format : {"binary_little_endian", "binary_big_endian"}) {
    ops::Gaussians gaussians = gaussians_of(3, 1);
    gaussians.log_scales[1][2] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_SENTENCE(read(ply_of(format, 3, plain_properties(gaussians))), "scale_2 has nan");
    gaussians.log_scales[1][2] = std::numeric_limits<float>::infinity();
    EXPECT_SENTENCE(read(ply_of(format, 3, plain_properties(gaussians))), "scale_2 has inf");
    gaussians.log_scales[1][2] = 0;
    gaussians.quaternions[2].zero_();
    EXPECT_SENTENCE(read(ply_of(format, 3, plain_properties(gaussians))), "the rotation 0 0 0 0");
  }
}

TEST_F(GaussianPly, WhatCannotBeAFileIsRefusedAndTheOldFileStays) {
  const ops::Gaussians good = gaussians_of(3, 1);
  write_gaussians(folder_ / "b.ply", good);
  ops::Gaussians bad = gaussians_of(3, 1);
  bad.means[0][0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_SENTENCE(write_gaussians(folder_ / "b.ply", bad), "means hold a number that is not finite");
  const auto none = ops::map_fields(good, [](const at::Tensor& field) { return field.narrow(0, 0, 0); });
  EXPECT_SENTENCE(write_gaussians(folder_ / "b.ply", none), "there are no Gaussians to write");
  expect_same_bits(read_gaussians(folder_ / "b.ply"), good);
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"b.ply"});
}

TEST_F(GaussianPly, DamageGivesValuesOrSentences) {
  const auto read_bytes = [&](const std::string& bytes) { read(bytes); };
  for (const char* format : {"ascii", "binary_little_endian"})
    testing::expect_values_or_sentences(ply_of(format, 3, plain_properties(gaussians_of(3, 4))), 600,
                                        read_bytes);
}

TEST(GaussianPlyName, IsToldByItsEnding) {
  EXPECT_TRUE(has_ply_name("a/b.ply"));
  EXPECT_TRUE(has_ply_name("B.PLY"));
  EXPECT_TRUE(has_ply_name("b.compressed.ply"));
  EXPECT_FALSE(has_ply_name("ply"));
  EXPECT_FALSE(has_ply_name("a.ply.fw"));
}

}  // namespace
}  // namespace lact::io
