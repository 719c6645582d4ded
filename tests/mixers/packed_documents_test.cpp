// Several documents in one row equal the documents run apart, whatever a layer is made of.
#include <ATen/ATen.h>

#include <functional>
#include <numeric>
#include <set>

#include "lact/mixers/lact/original_ttt.h"
#include "lact/mixers/recurrent/gla.h"
#include "lact/models/common/layers.h"
#include "support/dependence.h"
#include "support/errors.h"
#include "support/gradients.h"

namespace lact {
namespace {

using lact::testing::difference;
using lact::testing::randn;

constexpr int64_t kPackedWidth = 12, kPackedChunk = 4, kPackedWindow = 6;
const std::vector<int64_t> kLengths = {9, 1, 14, 5};

ttt::LactConfig packed_memory() {
  ttt::LactConfig memory;
  memory.num_heads = 3;
  memory.prepare_qk = {ttt::Preparation::l2_norm, ttt::Preparation::rope};
  memory.base_rate = 0.2;
  return memory;
}

std::vector<std::pair<std::string, std::shared_ptr<Mixer>>> layers(int64_t width) {
  ProjectionConfig projection;
  attention::AttentionConfig attention;
  attention.num_heads = 2;
  attention.rope = ops::RopeOptions{100};
  const auto hybrid = [&](std::shared_ptr<Core> core, int64_t conv_width) {
    projection.conv_width = conv_width;
    return std::make_shared<HybridMixer>(width, projection, attention, std::move(core), Rescaled::memory);
  };
  const auto lact = [&](const ttt::LactConfig& config) { return std::make_shared<ttt::Lact>(width, config); };
  ttt::LactConfig muon = packed_memory(), down = packed_memory();
  muon.update.momentum = muon.update.muon = true;
  down.update.written = ttt::Written::down;
  down.update.norm_placement = ttt::NormPlacement::none;
  recurrent::GlaConfig gla;
  gla.num_heads = 3;
  return {{"lact", hybrid(lact(packed_memory()), 0)},
          {"lact, muon, convolution", hybrid(lact(muon), 3)},
          {"lact, down alone", hybrid(lact(down), 0)},
          {"original ttt", hybrid(lact(ttt::original_ttt(3)), 0)},
          {"window alone", hybrid(nullptr, 2)},
          {"gla", hybrid(std::make_shared<recurrent::Gla>(width, gla), 0)},
          {"full attention", models::make_full_layer(width, {ProjectionConfig(), attention})}};
}

/// Large enough weights that every dependence shows.
void prepare(Mixer& layer, at::ScalarType type) {
  at::NoGradGuard no_grad;
  layer.to(type);
  for (auto& parameter : layer.parameters()) parameter.add_(at::randn_like(parameter) * 0.2);
}

at::Tensor forward_apart(Mixer& layer, const at::Tensor& x, const std::vector<int64_t>& lengths,
                         int64_t chunk, int64_t window) {
  std::vector<at::Tensor> outputs;
  for (const auto& document : at::split_with_sizes(x, lengths, 1)) {
    outputs.push_back(layer.forward(document, causal_layout(document.size(1), chunk, window)));
  }
  return at::cat(outputs, 1);
}

/// The output, then the gradients of x and of every parameter.
std::vector<at::Tensor> with_gradients(Mixer& layer, const at::Tensor& x, const at::Tensor& weighting,
                                       const std::function<at::Tensor(const at::Tensor&)>& run) {
  const at::Tensor leaf = x.detach().clone().requires_grad_(true);
  layer.zero_grad();
  const at::Tensor out = run(leaf);
  (out * weighting).sum().backward();
  std::vector<at::Tensor> all = {out.detach(), leaf.grad()};
  for (const auto& parameter : layer.parameters()) {
    all.push_back(parameter.grad().defined() ? parameter.grad().clone() : at::zeros_like(parameter));
  }
  return all;
}

void expect_packed_equals_apart(int64_t width, const std::vector<int64_t>& lengths, int64_t chunk,
                                int64_t window, at::ScalarType type, double tolerance) {
  at::manual_seed(1);
  const int64_t tokens = std::accumulate(lengths.begin(), lengths.end(), int64_t(0));
  for (const auto& [name, layer] : layers(width)) {
    prepare(*layer, type);
    const at::Tensor x = at::randn({2, tokens, width}, type), weighting = at::randn({2, tokens, width}, type);
    const auto apart = with_gradients(*layer, x, weighting, [&, &own = layer](const at::Tensor& in) {
      return forward_apart(*own, in, lengths, chunk, window);
    });
    const auto packed = with_gradients(*layer, x, weighting, [&, &own = layer](const at::Tensor& in) {
      return own->forward(in, packed_layout(lengths, chunk, window));
    });
    for (size_t i = 0; i < apart.size(); ++i) {
      EXPECT_LT(difference(packed[i], apart[i]), tolerance) << name << ", result " << i;
    }
  }
}

TEST(PackedDocuments, EqualDocumentsApart) {
  expect_packed_equals_apart(kPackedWidth, kLengths, kPackedChunk, kPackedWindow, at::kDouble, 1e-9);
}

TEST(PackedDocuments, EqualDocumentsApartOnFastPaths) {
  expect_packed_equals_apart(24, {70, 33, 1, 150}, 32, 40, at::kFloat, 1e-3);
}

TEST(PackedDocuments, NothingPassesFromOneToAnother) {
  at::manual_seed(2);
  const SequenceLayout layout = packed_layout(kLengths, kPackedChunk, kPackedWindow);
  at::Tensor same = at::zeros({layout.tokens, layout.tokens}, at::kBool);
  int64_t begin = 0;
  for (const int64_t length : kLengths) {
    same.slice(0, begin, begin + length).slice(1, begin, begin + length).fill_(true);
    begin += length;
  }
  EXPECT_FALSE(layout_mask(layout).logical_and(same.logical_not()).any().item<bool>());
  for (const auto& [name, layer] : layers(kPackedWidth)) {
    prepare(*layer, at::kDouble);
    const auto run = [&, &own = layer](const at::Tensor& x) { return own->forward(x, layout); };
    const at::Tensor found =
        lact::testing::measured_dependence(run, randn({1, layout.tokens, kPackedWidth}), 1);
    EXPECT_FALSE(found.logical_and(same.logical_not()).any().item<bool>()) << name;
    EXPECT_TRUE(found.diagonal().all().item<bool>()) << name;
  }
}

TEST(PackedDocuments, PositionsBeginAnewAndStretchesAreDocuments) {
  const SequenceLayout layout = packed_layout({3, 2}, 2, 4);
  EXPECT_EQ(layout.tokens, 5);
  EXPECT_TRUE(layout.keeps_nothing());
  EXPECT_TRUE(at::equal(layout.positions.flatten(), at::tensor({0, 1, 2, 0, 1}, at::kLong)));
  EXPECT_EQ(layout.schedule, (ttt::Schedule{{ttt::Operation::apply_then_update, {0, 2}},
                                            {ttt::Operation::apply, {2, 3}},
                                            {ttt::Operation::restart, {3, 3}},
                                            {ttt::Operation::apply, {3, 5}}}));
  EXPECT_EQ(document_lengths(layout), (std::vector<int64_t>{3, 2}));
  EXPECT_SENTENCE(packed_layout({}, 2, 4), "there are no documents");
  EXPECT_SENTENCE(packed_layout({3, 0}, 2, 4), "has 0 tokens, expected at least 1");
}

/// Names of what a state holds, with copies of it.
struct Recorder : StateVisitor {
  std::vector<std::pair<std::string, at::Tensor>> tensors;
  void tensor(const std::string& name, at::Tensor& value, int64_t) override {
    tensors.emplace_back(name, value.clone());
  }
  void number(const std::string&, int64_t&) override {}
};

TEST(LactOptions, AnElasticAnchorIsPartOfTheState) {
  at::manual_seed(3);
  at::NoGradGuard no_grad;
  ttt::LactConfig config = packed_memory();
  config.update.elastic.pull = 0.1;
  config.update.written = ttt::Written::down;
  ttt::Lact core(kPackedWidth, config);
  const auto in = [&] {
    const at::Tensor x = at::randn({1, 8, kPackedWidth});
    return Projected{x, x, x, x};
  };
  auto state = core.initial_state(1);
  core.mix(in(), causal_piece(0, 8, 4, 4), *state);
  const auto copy = state->clone();
  Recorder before, kept, after;
  copy->visit(before, "");
  core.mix(in(), causal_piece(8, 8, 4, 4), *state);
  state->visit(after, "");
  copy->visit(kept, "");
  std::set<std::string> names, moved;
  for (size_t i = 0; i < before.tensors.size(); ++i) {
    const auto& [name, value] = before.tensors[i];
    names.insert(name);
    EXPECT_TRUE(at::equal(kept.tensors[i].second, value)) << name << " of a clone";
    if (!at::equal(after.tensors[i].second, value)) moved.insert(name);
  }
  // Matrix 1 is down; the others are not written and keep no more than their weights.
  for (const char* name : {"weights1", "anchor1", "importance1"}) EXPECT_TRUE(moved.contains(name)) << name;
  for (const char* name : {"weights0", "weights2"}) EXPECT_FALSE(moved.contains(name)) << name;
  for (const char* name : {"anchor0", "importance2", "rates0"}) EXPECT_FALSE(names.contains(name)) << name;
  EXPECT_EQ(core.named_parameters()["rate.weight"].size(0), 3) << "one rate for each head";
}

TEST(LactOptions, SetPiecesEqualOneWriteWithAnAnchorAndSquaredError) {
  at::manual_seed(4);
  at::NoGradGuard no_grad;
  ttt::LactConfig config = packed_memory();
  config.loss = "squared_error";
  config.update.elastic.pull = 0.1;
  config.update.muon = true;
  config.prepare_qk = {ttt::Preparation::l2_norm};
  ttt::Lact core(kPackedWidth, config);
  const at::Tensor x = at::randn({1, 96, kPackedWidth});
  const auto cut = [&](int64_t begin, int64_t count) {
    const at::Tensor part = x.narrow(1, begin, count);
    return Projected{part, part, part, part};
  };
  const auto whole = core.initial_state(1), pieces = core.initial_state(1);
  core.mix(cut(0, 96), views_layout(2, 0, 48), *whole);
  for (const int64_t begin : {0, 48}) core.collect(cut(begin, 48), views_layout(1, 0, 48), *pieces);
  core.write_collected(*pieces);
  Recorder wanted, found;
  whole->visit(wanted, "");
  pieces->visit(found, "");
  for (size_t i = 0; i < wanted.tensors.size(); ++i) {
    if (wanted.tensors[i].second.numel() == 0) continue;
    EXPECT_LT(difference(found.tensors[i].second, wanted.tensors[i].second), 1e-3) << wanted.tensors[i].first;
  }
  config.update.steps = 2;
  ttt::Lact twice(kPackedWidth, config);
  const auto state = twice.initial_state(1);
  EXPECT_SENTENCE(twice.collect(cut(0, 48), views_layout(1, 0, 48), *state),
                  "a write that comes in pieces takes one step");
}

}  // namespace
}  // namespace lact
