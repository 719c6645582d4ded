#include "lact/io/packed_gaussians.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "io/gaussian_bytes.h"
#include "lact/io/gaussian_ply.h"
#include "support/damage.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::io {
namespace {

using testing::gaussians_of;
using testing::HandProperty;
using testing::ply_element;
using testing::ply_rows;
using testing::read_file;
using testing::write_file;

const char* const kBounds[] = {"min_x",       "min_y",       "min_z",       "max_x",       "max_y",
                               "max_z",       "min_scale_x", "min_scale_y", "min_scale_z", "max_scale_x",
                               "max_scale_y", "max_scale_z", "min_r",       "min_g",       "min_b",
                               "max_r",       "max_g",       "max_b"};

/// One Gaussian by hand: places in [-1, 3], log scales in [-8, -2], colours in [0.25, 0.75].
struct Packed {
  uint32_t position = 0, rotation = 0, scale = 0, colour = 0;
  std::vector<int> rest = {};
  int bounds = 18;

  std::string bytes() const {
    const float numbers[] = {-1, -1, -1, 3, 3, 3, -8, -8, -8, -2, -2, -2, .25, .25, .25, .75, .75, .75};
    std::vector<HandProperty> chunk;
    for (int i = 0; i < bounds; ++i)
      chunk.push_back({"float", kBounds[i], [value = numbers[i]](int64_t) { return double(value); }});
    std::vector<HandProperty> vertex;
    const std::pair<const char*, uint32_t> words[] = {{"packed_position", position},
                                                      {"packed_rotation", rotation},
                                                      {"packed_scale", scale},
                                                      {"packed_color", colour}};
    for (const auto& [name, word] : words)
      vertex.push_back({"uint", name, [value = word](int64_t) { return double(value); }});
    std::vector<HandProperty> sh;
    for (size_t i = 0; i < rest.size(); ++i)
      sh.push_back(
          {"uchar", fmt::format("f_rest_{}", i), [value = rest[i]](int64_t) { return double(value); }});
    const std::string format = "binary_little_endian";
    return "ply\nformat binary_little_endian 1.0\ncomment by hand\n" + ply_element("chunk", 1, chunk) +
           ply_element("vertex", 1, vertex) + (rest.empty() ? "" : ply_element("sh", 1, sh)) +
           "end_header\n" + ply_rows(format, 1, chunk) + ply_rows(format, 1, vertex) +
           ply_rows(format, 1, sh);
  }
};

class PackedGaussians : public ::testing::Test {
 protected:
  ops::Gaussians read(const std::string& bytes) {
    write_file(folder_ / "a.ply", bytes);
    return read_gaussians(folder_ / "a.ply");
  }
  testing::TemporaryFolder folder_;
};

void expect_near(const at::Tensor& found, std::vector<double> expected, double tolerance = 1e-5) {
  const at::Tensor wanted = at::tensor(expected, at::kDouble).reshape(found.sizes());
  EXPECT_LE((found.to(at::kDouble) - wanted).abs().max().item<double>(), tolerance)
      << found << " instead of " << wanted;
}

TEST_F(PackedGaussians, BitsMeanWhatTheFormatSays) {
  Packed packed;
  packed.position = 2047U << 21 | 0U << 11 | 1023U;
  packed.scale = 0U << 21 | 1023U << 11 | 2047U;
  packed.colour = 0xff00807fU;
  packed.rotation = 2U << 30 | 1023U << 20 | 512U << 10 | 0U;  // y is the largest; w, x, z follow
  const ops::Gaussians one = read(packed.bytes());
  expect_near(one.means, {3, -1, -1 + 4.0 * 1023 / 2047});
  expect_near(one.log_scales, {-8, -2, -2});
  const double half = std::sqrt(0.5), third = (512.0 / 1023 - 0.5) * std::sqrt(2);
  expect_near(one.quaternions, {half, third, 0, -half}, 1e-3);
  const double harmonic = 0.28209479177387814;
  expect_near(one.harmonics, {0.25 / harmonic, -0.25 / harmonic, (0.25 + 0.5 * 128 / 255 - 0.5) / harmonic});
  expect_near(one.opacity_logits, {std::log(127.0 / 128)});
  packed.bounds = 12;  // colours as they are
  packed.colour = 0x00ff8000U;
  packed.rest = {0, 1, 2, 127, 128, 129, 253, 254, 255};
  const ops::Gaussians old = read(packed.bytes());
  expect_near(old.harmonics[0][0], {-0.5 / harmonic, 0.5 / harmonic, (128.0 / 255 - 0.5) / harmonic});
  expect_near(old.opacity_logits, {-40});
  const auto byte = [](int value) { return ((value + 0.5) / 256 - 0.5) * 8; };
  expect_near(old.harmonics[0].narrow(0, 1, 3).t(),
              {-4, byte(1), byte(2), byte(127), byte(128), byte(129), byte(253), byte(254), 4});
}

/// Row by row, whichever order they are in now: the nearest mean.
at::Tensor nearest_rows(const at::Tensor& means, const at::Tensor& others) {
  return at::cdist(means, others).argmin(1);
}

TEST_F(PackedGaussians, AreCloseToWhatWasPacked) {
  for (const int64_t coefficients : {1, 4, 9, 16}) {
    const ops::Gaussians whole = gaussians_of(600, coefficients);
    write_gaussians(folder_ / "b.compressed.ply", whole);
    const ops::Gaussians packed = read_gaussians(folder_ / "b.compressed.ply");
    ASSERT_EQ(packed.size(), 600);
    ASSERT_EQ(packed.harmonics.size(1), coefficients);
    const at::Tensor rows = nearest_rows(whole.means, packed.means);
    EXPECT_EQ(std::get<0>(at::_unique(rows)).numel(), 600) << "one for each";
    const auto worst = [&](const at::Tensor& a, const at::Tensor& b) {
      return (a - b.index_select(0, rows)).abs().max().item<double>();
    };
    EXPECT_LT(worst(whole.means, packed.means), 6.0 / 1023);
    EXPECT_LT(worst(whole.log_scales, packed.log_scales), 8.0 / 1023);
    EXPECT_LT(worst(whole.opacity_logits.sigmoid(), packed.opacity_logits.sigmoid()), 0.51 / 255);
    EXPECT_LT(worst(whole.harmonics.select(1, 0), packed.harmonics.select(1, 0)), 4.0 / 255);
    EXPECT_LT(worst(whole.harmonics, packed.harmonics), 0.032);
    // A rotation and its negative are the same.
    const at::Tensor unit = whole.quaternions / whole.quaternions.norm(2, 1, true);
    const at::Tensor cosine = (unit * packed.quaternions.index_select(0, rows)).sum(1).abs();
    EXPECT_GT(cosine.min().item<double>(), 1 - 1e-5);
  }
}

TEST_F(PackedGaussians, PackedAgainTheyKeepTheirBytes) {
  const ops::Gaussians whole = gaussians_of(200, 9);
  write_gaussians(folder_ / "b.compressed.ply", whole);
  write_gaussians(folder_ / "c.compressed.ply", read_gaussians(folder_ / "b.compressed.ply"));
  const ops::Gaussians once = read_gaussians(folder_ / "b.compressed.ply"),
                       twice = read_gaussians(folder_ / "c.compressed.ply");
  const at::Tensor rows = nearest_rows(once.means, twice.means);
  EXPECT_TRUE(once.harmonics.narrow(1, 1, 8).equal(twice.harmonics.index_select(0, rows).narrow(1, 1, 8)));
  EXPECT_TRUE(at::allclose(once.opacity_logits, twice.opacity_logits.index_select(0, rows)));
  EXPECT_TRUE(at::allclose(once.quaternions, twice.quaternions.index_select(0, rows), 0, 2e-3));
}

TEST_F(PackedGaussians, AreSmallAndChunksAreNeighbours) {
  const ops::Gaussians whole = gaussians_of(4096, 16);
  write_gaussians(folder_ / "b.ply", whole);
  write_gaussians(folder_ / "b.compressed.ply", whole);
  const size_t plain = read_file(folder_ / "b.ply").size(),
               packed = read_file(folder_ / "b.compressed.ply").size();
  EXPECT_LT(packed, plain * 62 / 240);
  // In the order of the file, the extent of a chunk is a part of the whole.
  const at::Tensor means = read_gaussians(folder_ / "b.compressed.ply").means.reshape({16, 256, 3});
  const at::Tensor extent = means.amax(1) - means.amin(1);
  const at::Tensor all = means.reshape({-1, 3}).amax(0) - means.reshape({-1, 3}).amin(0);
  EXPECT_LT((extent.prod(1) / all.prod()).mean().item<double>(), 0.2);
}

TEST_F(PackedGaussians, OneOrEqualOnesHaveNoExtent) {
  const ops::Gaussians equal = ops::map_fields(
      gaussians_of(1, 1), [](const at::Tensor& field) { return field.repeat_interleave(300, 0); });
  write_gaussians(folder_ / "b.compressed.ply", equal);
  const ops::Gaussians packed = read_gaussians(folder_ / "b.compressed.ply");
  EXPECT_TRUE(packed.means.equal(equal.means));
  EXPECT_TRUE(packed.log_scales.equal(equal.log_scales));
}

TEST_F(PackedGaussians, FilesThatContradictThemselvesAreRefused) {
  Packed packed;
  packed.rest.assign(9, 128);
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string bytes = packed.bytes();
    return bytes.replace(bytes.find(from), from.size(), to);
  };
  EXPECT_SENTENCE(read(changed("element chunk 1", "element chunk 0")), "0 chunks, expected 1");
  EXPECT_SENTENCE(read(changed("element chunk", "element chank")), "there is no element chunk");
  EXPECT_SENTENCE(read(changed("element vertex 1", "element vertex 257")), "bytes, but");
  EXPECT_SENTENCE(read(changed("element sh 1", "element sh 0")), "0 elements sh for 1 Gaussians");
  EXPECT_SENTENCE(read(changed("uint packed_scale", "float packed_scale")), "no property packed_scale");
  EXPECT_SENTENCE(read(changed("uint packed_color", "uint packed_cilor")), "no property packed_color");
  EXPECT_SENTENCE(read(changed("float max_z", "float maxi_z")), "no property max_z");
  EXPECT_SENTENCE(read(changed("uchar f_rest_3", "char f_rest_3")), "f_rest_3 is not uchar");
  EXPECT_SENTENCE(read(packed.bytes() + "x"), "bytes are left");
}

TEST_F(PackedGaussians, DamageGivesValuesOrSentences) {
  write_gaussians(folder_ / "b.compressed.ply", gaussians_of(5, 4));
  testing::expect_values_or_sentences(read_file(folder_ / "b.compressed.ply"), 800,
                                      [&](const std::string& bytes) { read(bytes); });
}

}  // namespace
}  // namespace lact::io
