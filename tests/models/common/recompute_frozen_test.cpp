// Whatever is frozen and whatever is computed again, the gradients are those of computing everything once.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>

#include "lact/nn/recompute.h"
#include "support/tiny_lm.h"
#include "support/tiny_nvs.h"
#include "support/tiny_video.h"

namespace lact::models {
namespace {

using Trains = std::function<bool(const std::string& parameter)>;

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

/// What is trained. Apart from the first, none of these gives the blocks' input a gradient.
const std::vector<std::pair<std::string, Trains>>& freezings() {
  static const std::vector<std::pair<std::string, Trains>> all = {
      {"everything", [](const std::string&) { return true; }},
      {"attention and memory", [](const std::string& name) { return contains(name, ".mixer"); }},
      {"the last block", [](const std::string& name) { return contains(name, "block1."); }},
      {"the first block", [](const std::string& name) { return contains(name, "block0."); }},
      {"vectors inside of blocks",
       [](const std::string& name) { return contains(name, "block") && contains(name, "norm"); }},
      {"what follows the blocks",
       [](const std::string& name) {
         return !contains(name, "block") && !contains(name, "embed") && !contains(name, "input") &&
                !contains(name, "patch");
       }},
  };
  return all;
}

template <class Model>
void expect_the_same_gradients(Model& model, const std::function<at::Tensor()>& forward) {
  const bool precise = model.parameters()[0].scalar_type() == at::kDouble;
  for (const auto& [frozen, trains] : freezings()) {
    int64_t trained = 0;
    for (auto& item : model.named_parameters()) {
      item.value().set_requires_grad(trains(item.key()));
      trained += trains(item.key()) ? 1 : 0;
    }
    ASSERT_GT(trained, 0) << frozen;
    const auto gradients = [&](nn::Recompute what) {
      model.set_recompute(what);
      for (auto& parameter : model.parameters()) parameter.mutable_grad() = at::Tensor();
      forward().square().sum().backward();
      std::map<std::string, at::Tensor> found;
      for (const auto& item : model.named_parameters())
        if (item.value().grad().defined()) found[item.key()] = item.value().grad().clone();
      return found;
    };
    const auto kept = gradients(nn::Recompute::none);
    EXPECT_GT(kept.size(), 0u) << frozen;
    for (const auto what : {nn::Recompute::cheap, nn::Recompute::memory, nn::Recompute::blocks}) {
      SCOPED_TRACE(frozen + " trained, " + std::string(options::word_of(what)));
      const auto again = gradients(what);
      ASSERT_EQ(again.size(), kept.size());
      for (const auto& [name, gradient] : kept)
        EXPECT_LT((again.at(name) - gradient).norm().template item<double>(),
                  (precise ? 1e-11 : 1e-4) * (1 + gradient.norm().template item<double>()))
            << name;
    }
  }
}

TEST(RecomputeFrozen, LanguageModel) {
  const auto config = lact::testing::tiny_lm();
  for (const auto& model : {lact::testing::make_precise_lm(config), lact::testing::make_lm(config)}) {
    const at::Tensor ids = lact::testing::random_ids(2, 21);
    expect_the_same_gradients(*model, [&] { return model->logits(model->hidden(ids)); });
  }
}

TEST(RecomputeFrozen, ViewSynthesis) {
  const auto config = lact::testing::tiny_nvs();
  for (const auto& model : {lact::testing::make_precise_nvs(config), lact::testing::make_nvs(config)}) {
    const auto scene = lact::testing::tiny_scene(4, 8, 12, model->parameters()[0].scalar_type());
    expect_the_same_gradients(*model, [&] { return lact::testing::forward_of(*model, scene, 2); });
  }
}

TEST(RecomputeFrozen, Video) {
  for (const MixerKind mixer : lact::testing::kVideoMixers) {
    const VideoConfig config = lact::testing::tiny_video(mixer);
    for (const auto& model : {lact::testing::make_precise_video(config), lact::testing::make_video(config)}) {
      const auto clip = lact::testing::tiny_clip(config, 3, 1, 1, model->parameters()[0].scalar_type());
      expect_the_same_gradients(*model, [&] { return clip.run(*model); });
    }
  }
}

}  // namespace
}  // namespace lact::models
