#include "lact/models/common/foreign.h"

#include <ATen/ATen.h>

#include "lact/models/lm/weights.h"
#include "lact/models/nvs/weights.h"
#include "lact/models/video/weights.h"
#include "lact/nn/linear.h"
#include "support/errors.h"

namespace lact::models {
namespace {

/// Every foreign tensor of a module, in its foreign shape.
std::map<std::string, at::Tensor> exported(torch::nn::Module& module, const ForeignNames& names) {
  std::map<std::string, at::Tensor> tensors;
  const auto parameters = module.named_parameters();
  for (const auto& [foreign, ours, view] : names.tensors())
    tensors[foreign] = view(parameters[ours]).detach().clone();
  return tensors;
}

/// Exporting one layer and loading into another makes them equal.
template <class Module>
void expect_round_trip(Module& from, Module& to, const ForeignNames& names) {
  load_foreign(to, names, exported(from, names), "a.safetensors");
  for (const auto& item : from.named_parameters()) {
    EXPECT_TRUE(to.named_parameters()[item.key()].equal(item.value())) << item.key();
  }
}

TEST(Foreign, AuthorsLayersRoundTripForEveryOption) {
  for (const bool on : {false, true}) {
    AuthorsLmLayer lm;
    lm.hidden_size = 12, lm.num_attn_heads = 2, lm.num_lact_heads = 3;
    lm.qkv_bias = lm.attn_qk_norm = lm.use_momentum = lm.learnable_ttt_scale = on;
    lm.w0_w2_low_rank = on ? 2 : -1;
    expect_round_trip(*make_layer(12, translate(lm)), *make_layer(12, translate(lm)), foreign_names(lm));

    AuthorsVideoLayer video;
    video.dim = 12, video.num_heads = 2, video.fw_head_dim = 4;
    video.qk_norm = video.o_norm = video.use_momentum = video.learnable_ttt_scale = on;
    expect_round_trip(*make_layer(12, translate(video)), *make_layer(12, translate(video)),
                      foreign_names(video));

    AuthorsNvsBlock nvs;
    nvs.attention.head_dim = 6, nvs.lact.head_dim = 4;
    nvs.attention.use_qk_norm = on;
    expect_round_trip(*make_block(nvs, 12), *make_block(nvs, 12), foreign_names(nvs));
  }
}

TEST(Foreign, PartsOfOneMatrixAndTransposedOnesAreViews) {
  nn::Linear layer(2, 6, false);
  ForeignNames names;
  names.rows("k", "weight", 1, 3);
  const at::Tensor view = names.tensors()[0].view(layer.weight);
  EXPECT_TRUE(view.equal(layer.weight.slice(0, 2, 4)));
  names.transposed("turned", "weight");
  EXPECT_TRUE(names.tensors()[1].view(layer.weight).equal(layer.weight.transpose(0, 1)));
}

TEST(Foreign, WrongFilesGetASentenceAndChangeNothing) {
  nn::Linear layer(3, 2, true);
  ForeignNames names;
  names.linear("fc", "", true);
  names = {};
  names.same("fc.weight", "weight");
  names.same("fc.bias", "bias");
  const at::Tensor before = layer.weight.detach().clone();
  const at::Tensor weight = at::randn({2, 3}), bias = at::randn({2});
  EXPECT_SENTENCE(load_foreign(layer, names, {{"fc.weight", weight}}, "m.pt"),
                  "m.pt: tensor fc.bias is missing");
  EXPECT_SENTENCE(load_foreign(layer, names, {{"fc.weight", weight}, {"fc.bias", at::randn({3})}}, "m.pt"),
                  "m.pt: tensor fc.bias has shape [3], expected [2]");
  EXPECT_SENTENCE(
      load_foreign(layer, names, {{"fc.weight", weight}, {"fc.bias", bias}, {"extra", bias}}, "m.pt"),
      "m.pt: tensor extra is not part of this model");
  EXPECT_SENTENCE(
      load_foreign(layer, names, {{"fc.weight", weight}, {"fc.bias", at::zeros({2}, at::kLong)}}, "m.pt"),
      "expected a floating point type");
  EXPECT_TRUE(layer.weight.equal(before));
}

TEST(Foreign, UnknownVariantsAreRefused) {
  AuthorsLmLayer lm;
  lm.lr_parameterization = "constant";
  EXPECT_SENTENCE(translate(lm), "expected mamba");
  AuthorsNvsAttention attention;
  attention.head_dim = 5;
  EXPECT_SENTENCE(translate(attention, 12), "head_dim 5 does not divide dim 12");
  AuthorsVideoLayer video;
  video.dim = 12, video.fw_head_dim = 5;
  EXPECT_SENTENCE(translate(video), "fw_head_dim 5 does not divide dim 12");
}

}  // namespace
}  // namespace lact::models
