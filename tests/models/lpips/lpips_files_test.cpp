#include "lact/models/lpips/lpips_files.h"

#include <ATen/ATen.h>

#include <filesystem>

#include "io/pt_bytes.h"
#include "lact/io/safetensors.h"
#include "lact/models/lpips/lpips.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::models {
namespace {

namespace fs = std::filesystem;
using StateDict = std::map<std::string, at::Tensor>;

/// As PyTorch before 1.6 saved it, each tensor in a storage of its own.
void write_state_dict(const std::string& path, const StateDict& tensors) {
  std::string pairs;
  std::vector<io::PtStorageBytes> storages;
  for (const auto& [name, tensor] : tensors) {
    const std::string key = std::to_string(1000 + storages.size());
    pairs += io::text(name) + io::tensor(io::storage("FloatStorage", key, tensor.numel()), 0,
                                         tensor.sizes().vec(), tensor.strides().vec());
    storages.push_back({key,
                        uint64_t(tensor.numel()),
                        {static_cast<const char*>(tensor.data_ptr()), size_t(tensor.numel()) * 4}});
  }
  testing::write_file(path, io::pt_stream(io::dict(pairs), storages));
}

/// VGG16 of random weights, by torchvision's names.
struct RandomVgg {
  struct Layer {
    int64_t index, in, out;
    bool pooled_before, tap;
  };
  static constexpr Layer kLayers[] = {
      {0, 3, 64, false, false},    {2, 64, 64, false, true},    {5, 64, 128, true, false},
      {7, 128, 128, false, true},  {10, 128, 256, true, false}, {12, 256, 256, false, false},
      {14, 256, 256, false, true}, {17, 256, 512, true, false}, {19, 512, 512, false, false},
      {21, 512, 512, false, true}, {24, 512, 512, true, false}, {26, 512, 512, false, false},
      {28, 512, 512, false, true}};

  RandomVgg() {
    at::manual_seed(8);
    for (const auto& layer : kLayers) {
      const std::string name = fmt::format("features.{}.", layer.index);
      features[name + "weight"] =
          at::randn({layer.out, layer.in, 3, 3}) * std::sqrt(2 / double(layer.in * 9));
      features[name + "bias"] = at::randn({layer.out}) * 0.1;
      if (layer.tap)
        heads[fmt::format("lin{}.model.1.weight", heads.size())] = at::rand({1, layer.out, 1, 1});
    }
    features["classifier.0.bias"] = at::full({4}, std::nan(""));  // which LPIPS has no use for
  }

  std::vector<at::Tensor> taps(const at::Tensor& picture) const {
    const auto channels = [](std::vector<double> values) {
      return at::tensor(values, at::kFloat).view({1, 3, 1, 1});
    };
    at::Tensor x = (picture * 2 - 1 - channels({-.030, -.088, -.188})) / channels({.458, .448, .450});
    std::vector<at::Tensor> all;
    for (const auto& layer : kLayers) {
      const std::string name = fmt::format("features.{}.", layer.index);
      if (layer.pooled_before) x = at::max_pool2d(x, 2, 2);
      x = at::relu(at::conv2d(x, features.at(name + "weight"), features.at(name + "bias"), 1, 1));
      if (layer.tap) all.push_back(x / x.square().sum(1, true).sqrt().clamp_min(1e-10));
    }
    return all;
  }

  StateDict features, heads;
};

TEST(LpipsFiles, VggOfTorchvisionAndThePublishedHeads) {
  const RandomVgg net;
  const testing::TemporaryFolder folder;
  write_state_dict(folder / "vgg16-397923af.pth", net.features);
  write_state_dict(folder / "vgg.pth", net.heads);
  const Lpips lpips(LpipsNetwork::vgg, folder / "");
  const at::Tensor a = at::rand({2, 3, 33, 47}), b = at::rand({2, 3, 33, 47});
  const at::Tensor found = lpips.by_layer(a, b);
  const auto first = net.taps(a), second = net.taps(b);
  ASSERT_EQ(found.sizes(), (std::vector<int64_t>{2, 5}));
  for (int64_t i = 0; i < 5; ++i) {
    const at::Tensor squares = (first[size_t(i)] - second[size_t(i)]).square();
    const at::Tensor expected =
        (squares * net.heads.at(fmt::format("lin{}.model.1.weight", i))).sum(1).mean({1, 2});
    EXPECT_TRUE(at::allclose(found.select(1, i), expected, 1e-4)) << "layer " << i;
  }
  at::Tensor picture = a.clone().requires_grad_(true);
  lpips(picture, b).sum().backward();
  const at::Tensor closer = a - 0.01 * picture.grad() / picture.grad().abs().max();
  EXPECT_LT(lpips(closer, b).sum().item<float>(), lpips(a, b).sum().item<float>());
}

TEST(LpipsFiles, SafetensorsGoFirstAndOtherNetworksAreNotTaken) {
  const testing::TemporaryFolder folder;
  const std::string root = folder / "";
  const auto touch = [&](const char* name) { testing::write_file(folder / name, "x"); };
  const auto found = [&] { return fs::path(find_lpips_features(LpipsNetwork::vgg, root)).filename(); };
  touch("vgg16_bn-6c64b313.pth");
  touch("vgg19-dcbb9e9d.pth");
  EXPECT_SENTENCE(find_lpips_features(LpipsNetwork::vgg, root),
                  "holds no vgg16_features.safetensors and no "
                  "vgg16-*.pth");
  touch("vgg16.pth");
  EXPECT_EQ(found(), "vgg16.pth");
  touch("vgg16-397923af.pth");
  EXPECT_EQ(found(), "vgg16-397923af.pth");
  touch("vgg16_features.safetensors");
  EXPECT_EQ(found(), "vgg16_features.safetensors");
  touch("alexnet-owt-7be5be79.pth");
  EXPECT_EQ(fs::path(find_lpips_features(LpipsNetwork::alex, root)).filename(), "alexnet-owt-7be5be79.pth");
  EXPECT_SENTENCE(find_lpips_heads(LpipsNetwork::alex, root),
                  "neither lpips_lin_alex_v0.1.safetensors nor alex.pth");
  touch("alex.pth");
  EXPECT_EQ(fs::path(find_lpips_heads(LpipsNetwork::alex, root)).filename(), "alex.pth");
}

TEST(LpipsFiles, MistakesNameTheTensor) {
  const testing::TemporaryFolder folder;
  StateDict tensors = {{"features.0.weight", at::zeros({64, 3, 3, 3})}};
  io::write_safetensors(folder / "a.safetensors", {tensors, {}});
  const LpipsFile file(folder / "a.safetensors", "features.");
  EXPECT_SENTENCE(file.take("features.0.weight", {64, 3, 5, 5}),
                  "a.safetensors: tensor features.0.weight has shape [64, 3, 3, 3], expected [64, 3, 5, 5]");
  EXPECT_SENTENCE(file.take("features.0.bias", {64}), "tensor features.0.bias is missing");
  tensors["features.0.weight"][0][0][0][0] = std::nan("");
  write_state_dict(folder / "b.pth", tensors);
  EXPECT_SENTENCE(LpipsFile(folder / "b.pth", "features."), "features.0.weight");
}

}  // namespace
}  // namespace lact::models
