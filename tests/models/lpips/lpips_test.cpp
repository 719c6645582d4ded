#include "lact/models/lpips/lpips.h"

#include <ATen/ATen.h>
#include <png.h>

#include <filesystem>

#include "lact/base/options.h"
#include "lact/io/safetensors.h"
#include "lact/tasks/nvs/evaluation/image_metrics.h"
#include "support/errors.h"
#include "support/places.h"
#include "support/random_alexnet.h"
#include "support/temporary_folder.h"

namespace lact::models {
namespace {

namespace fs = std::filesystem;

/// [1, 3, H, W] in [0, 1]
at::Tensor read_picture(const fs::path& path) {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  EXPECT_TRUE(png_image_begin_read_from_file(&png, path.c_str())) << png.message;
  png.format = PNG_FORMAT_RGB;
  const at::Tensor image = at::empty({int64_t(png.height), int64_t(png.width), 3}, at::kByte);
  EXPECT_TRUE(png_image_finish_read(&png, nullptr, image.data_ptr(), 0, nullptr)) << png.message;
  return image.permute({2, 0, 1}).unsqueeze(0).to(at::kFloat) / 255;
}

using testing::RandomAlexNet;

TEST(Lpips, IsTheWeightedDistanceOfNormalisedFeatures) {
  const RandomAlexNet net;
  const Lpips lpips(LpipsNetwork::alex, net.folder / "");
  const at::Tensor a = at::rand({2, 3, 40, 48}), b = at::rand({2, 3, 40, 48});
  const at::Tensor found = lpips.by_layer(a, b);
  const auto first = net.taps(a), second = net.taps(b);
  ASSERT_EQ(found.sizes(), (std::vector<int64_t>{2, 5}));
  for (int64_t i = 0; i < 5; ++i) {
    const at::Tensor squares = (first[size_t(i)] - second[size_t(i)]).square();
    const at::Tensor expected =
        (squares * net.heads.at(fmt::format("lin{}.model.1.weight", i))).sum(1).mean({1, 2});
    EXPECT_TRUE(at::allclose(found.select(1, i), expected, 1e-4)) << "layer " << i;
  }
  EXPECT_TRUE(at::allclose(lpips(a, b), found.sum(1)));
  EXPECT_EQ(lpips(a, a).abs().max().item<float>(), 0);
}

class LpipsTest : public ::testing::TestWithParam<LpipsNetwork> {
 protected:
  void SetUp() override {
    if (!fs::exists(folder_)) GTEST_SKIP() << folder_ << " is absent: LPIPS was not checked";
  }
  fs::path folder_ = fs::path(testing::source_folder()) / "../shared/data/lpips";
};

TEST_P(LpipsTest, IsTheReference) {
  const Lpips lpips(GetParam(), folder_.string());
  const std::string name(options::word_of(GetParam()));
  const auto reference = options::read_json_file((folder_ / "reference_values.json").string());
  ASSERT_GE(reference["pairs"].size(), 6u);
  for (const auto& pair : reference["pairs"]) {
    const at::Tensor a = read_picture(folder_ / "ref_images" / pair["a"].get<std::string>());
    const at::Tensor b = read_picture(folder_ / "ref_images" / pair["b"].get<std::string>());
    const at::Tensor shares = lpips.by_layer(a, b)[0];
    const auto expected = pair["per_layer_" + name].get<std::vector<double>>();
    ASSERT_EQ(shares.size(0), int64_t(expected.size()));
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(shares[int64_t(i)].item<double>(), expected[i], 1e-4) << pair["b"] << " layer " << i;
    const auto scores = tasks::nvs::score_images(a, b, &lpips);
    EXPECT_NEAR(*scores.lpips, pair["lpips_" + name].get<double>(), 1e-4) << pair["b"];
    if (pair["psnr_db"].is_number()) {  // not of a picture and itself
      EXPECT_NEAR(scores.psnr, pair["psnr_db"].get<double>(), 1e-3) << pair["b"];
    }
  }
}

TEST_P(LpipsTest, ItsGradientLeadsToTheOtherPicture) {
  const Lpips lpips(GetParam(), folder_.string());
  const at::Tensor wanted = read_picture(folder_ / "ref_images/astro.png");
  at::Tensor picture = (wanted * 0.5 + 0.25).clone().requires_grad_(true);
  const at::Tensor before = lpips(picture, wanted).sum();
  before.backward();
  ASSERT_TRUE(at::isfinite(picture.grad()).all().item<bool>());
  const at::Tensor closer = picture.detach() - 0.01 * picture.grad() / picture.grad().abs().max();
  EXPECT_LT(lpips(closer, wanted).item<float>(), before.item<float>());
  EXPECT_FALSE(lpips(wanted, wanted).requires_grad());
  // Blank pictures have places where no feature is active.
  at::Tensor blank = at::zeros({1, 3, 32, 32}).requires_grad_(true);
  lpips(blank, at::ones({1, 3, 32, 32})).sum().backward();
  EXPECT_TRUE(at::isfinite(blank.grad()).all().item<bool>());
}

TEST_P(LpipsTest, MistakesAreSentences) {
  const Lpips lpips(GetParam(), folder_.string());
  EXPECT_SENTENCE(lpips(at::zeros({1, 3, 16, 64}), at::zeros({1, 3, 16, 64})), "at least 32 pixels");
  EXPECT_SENTENCE(lpips(at::zeros({1, 3, 64, 64}), at::zeros({2, 3, 64, 64})), "[2, 3, 64, 64]");
  EXPECT_SENTENCE(Lpips(GetParam(), "/nowhere"), "/nowhere: is no folder");
}

INSTANTIATE_TEST_SUITE_P(Networks, LpipsTest, ::testing::Values(LpipsNetwork::squeeze, LpipsNetwork::alex),
                         [](const auto& info) { return std::string(options::word_of(info.param)); });

}  // namespace
}  // namespace lact::models
