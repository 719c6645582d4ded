#include "lact/models/common/cost.h"

#include <gtest/gtest.h>

#include <random>

#include "lact/models/common/block.h"
#include "lact/models/lm/model.h"
#include "lact/models/lm/presets.h"
#include "lact/models/nvs/presets.h"
#include "lact/models/presets.h"
#include "lact/models/video/model.h"
#include "lact/models/video/presets.h"

namespace lact::models {
namespace {

double millions(int64_t count) { return double(count) / 1e6; }

int64_t parameters_of(const torch::nn::Module& module) {
  int64_t count = 0;
  for (const auto& parameter : module.parameters()) count += parameter.numel();
  return count;
}

double flops_of(const ModelCost& cost, const std::string& name) {
  for (const auto& part : cost.block()) {
    if (part.name == name) return part.flops;
  }
  ADD_FAILURE() << "no part " << name;
  return 0;
}

// Figures of the paper.

TEST(Cost, ViewSynthesisHas312MParametersOf84MFastWeights) {
  const ModelCost cost = models::cost(nvs_312m());
  EXPECT_NEAR(millions(cost.total().parameters), 312, 0.005 * 312);
  EXPECT_NEAR(millions(cost.total().state), 84, 1);
  EXPECT_EQ(cost.num_layers * cost.memory().parameters, cost.total().state);
  EXPECT_DOUBLE_EQ(cost.state_in_squares(), 6);
}

TEST(Cost, ViewSynthesisWithFourTimesTheHiddenWidthIsFortyPercentState) {
  const ModelCost cost = models::cost(nvs_4x());
  EXPECT_DOUBLE_EQ(cost.state_in_squares(), 12);
  EXPECT_NEAR(cost.state_share(), 0.40, 0.03);
  NvsConfig shallow = nvs_14_layers();
  shallow.lact = nvs_memory(4);
  EXPECT_NEAR(models::cost(shallow).state_share(), 0.40, 0.03);
}

TEST(Cost, LanguageModelsHaveThreeQuartersOfASquareOfState) {
  for (const LmConfig& config : {lm_tiny(), lm_small(), lm_760m(), lm_3b_paper(), lm_3b_code()}) {
    EXPECT_DOUBLE_EQ(models::cost(config).state_in_squares(), 0.75);
  }
  EXPECT_EQ(models::cost(lm_3b_paper()).memory().state, 2304 * 3072);
  EXPECT_NEAR(double(models::cost(lm_3b_paper()).total().parameters), 3e9, 0.04 * 3e9);
  EXPECT_NEAR(double(models::cost(lm_760m()).total().parameters), 760e6, 0.06 * 760e6);
}

// Table 3: per block, in units of the model's width.
TEST(Cost, BaselinesHaveThePapersState) {
  EXPECT_DOUBLE_EQ(models::cost(lm_3b_paper()).state_in_widths(), 2304);
  EXPECT_DOUBLE_EQ(models::cost(lm_3b_gla()).state_in_widths(), 384);
  EXPECT_DOUBLE_EQ(models::cost(lm_3b_deltanet()).state_in_widths(), 128);
  EXPECT_DOUBLE_EQ(models::cost(lm_760m_gla()).state_in_widths(), 384);
  EXPECT_DOUBLE_EQ(models::cost(lm_760m_deltanet()).state_in_widths(), 128);
  EXPECT_EQ(models::cost(video_1_3b_mamba2()).block_state(), 12 * 128 * 128);
  EXPECT_DOUBLE_EQ(models::cost(nvs_mamba2()).state_in_squares(), 1);
  EXPECT_EQ(models::cost(nvs_perceiver()).total().state, 4096 * 768);
  for (const LmConfig& config : {lm_3b_full(), lm_3b_window(), lm_760m_full(), lm_760m_window()}) {
    const ModelCost cost = models::cost(config);
    EXPECT_EQ(cost.total().state, 0);
    EXPECT_EQ(cost.blocks.front().grows(), config.mixer == MixerKind::full);
  }
}

TEST(Cost, BaselinesHaveThePapersSize) {
  for (const LmConfig& config : {lm_760m_full(), lm_760m_window(), lm_760m_gla(), lm_760m_deltanet()})
    EXPECT_NEAR(millions(models::cost(config).total().parameters), 760, 0.06 * 760);
  for (const LmConfig& config : {lm_3b_full(), lm_3b_window(), lm_3b_gla(), lm_3b_deltanet()})
    EXPECT_NEAR(millions(models::cost(config).total().parameters), 3000, 0.06 * 3000);
  EXPECT_NEAR(millions(models::cost(nvs_full()).total().parameters), 284, 0.5);
  EXPECT_NEAR(millions(models::cost(nvs_perceiver()).total().parameters), 287, 0.5);
}

// k vᵀ and S q are two products with the state; the delta rule looks S k up before.
TEST(Cost, RecurrencesTakeFourOrSixTimesTheirState) {
  const auto work = [](const LmConfig& config) {
    const ModelCost cost = models::cost(config);
    return flops_of(cost, "recurrence") / double(cost.block_state());
  };
  EXPECT_DOUBLE_EQ(work(lm_3b_gla()), 4);
  EXPECT_DOUBLE_EQ(work(lm_3b_deltanet()), 6);
  LmConfig mamba2 = lm_tiny();
  mamba2.mixer = MixerKind::mamba2;
  EXPECT_DOUBLE_EQ(work(mamba2), 4);
}

TEST(Cost, FullAttentionOfATextGrowsWithIt) {
  for (const int64_t tokens : {100, 32768})
    EXPECT_DOUBLE_EQ(flops_of(models::cost(lm_760m_full(), {tokens}), "full attention"),
                     4.0 * double(tokens) * 1536);
  EXPECT_EQ(models::cost(lm_760m_window(), {100}).total().flops,
            models::cost(lm_760m_window(), {32768}).total().flops);
  EXPECT_THROW(models::cost(lm_760m_full(), {0}), Error);
}

TEST(Cost, APatternCostsWhatItsLayersCost) {
  LmConfig config = lm_tiny();
  const CostPart lact = models::cost(config).blocks.front().one(),
                 others = sum("", models::cost(config).others);
  config.mixer = MixerKind::full;
  const CostPart full = models::cost(config).blocks.front().one();
  config.mixer = MixerPattern::parse("3 lact : 1 full");
  const ModelCost cost = models::cost(config);
  const CostPart total = cost.total();
  EXPECT_EQ(total.parameters, 5 * lact.parameters + full.parameters + others.parameters);
  EXPECT_EQ(total.state, 5 * lact.state);
  EXPECT_DOUBLE_EQ(total.flops, 5 * lact.flops + full.flops + others.flops);
  EXPECT_EQ(total.parameters, parameters_of(LanguageModel(config)));
}

TEST(Cost, LowRankInitialWeightsAdd128TimesTheWidthAndASquareOverTheHeads) {
  for (const int64_t heads : {1, 2, 4, 12}) {
    const int64_t width = 1536;
    const FastWeightCost cost = fast_weight_cost(width, lm_layer(12, heads).memory);
    EXPECT_EQ(cost.parameters, 128 * width + width * width / heads);
  }
}

TEST(Cost, LowRankInitialWeightsAreAFewPercentOfTheTrainableWeights) {
  LmConfig config = lm_3b_paper();
  const auto share = [&] {
    const ModelCost cost = models::cost(config);
    return double(cost.memory().parameters) / double(sum("", cost.block()).parameters);
  };
  EXPECT_LT(share(), 0.03);
  config.layer = lm_layer(24, 2);
  EXPECT_LT(share(), 0.045);
}

TEST(Cost, UpdateAndApplyTakeSixTimesTheState) {
  for (const double multiple : {0.5, 1.0, 2.0, 4.0}) {
    for (const int64_t heads : {1, 2, 4}) {
      ttt::LactConfig config;
      config.num_heads = heads;
      config.hidden_multiple = multiple;
      const double width = 768;
      const FastWeightCost cost = fast_weight_cost(768, config);
      EXPECT_DOUBLE_EQ(cost.update_flops, (4 + 8) * width * width / double(heads) * multiple);
      EXPECT_DOUBLE_EQ(cost.apply_flops, 6 * width * width / double(heads) * multiple);
      EXPECT_DOUBLE_EQ(cost.update_flops + cost.apply_flops, 6 * double(cost.state));
    }
  }
}

TEST(Cost, LossThatLooksAtThePredictionTakesOnePassMore) {
  ttt::LactConfig config;
  config.loss = "squared_error";
  const FastWeightCost cost = fast_weight_cost(64, config);
  EXPECT_DOUBLE_EQ(cost.update_flops, 6 * double(cost.state));
}

TEST(Cost, MuonOfOneMatrixIsThePapersFormula) {
  const double width = 64;
  for (const double multiple : {1.0, 2.0, 4.0}) {
    const auto hidden = int64_t(width * multiple);
    const double expected = width * width * width * (4 * multiple + 2);
    EXPECT_DOUBLE_EQ(newton_schulz_flops(64, hidden), expected);
    EXPECT_DOUBLE_EQ(newton_schulz_flops(hidden, 64), expected);
  }
}

// Paper eq. 3, for the square matrices that it is about and for others.
TEST(Cost, ComputeToMemoryIsThePapersRatio) {
  const FastWeightCost square = models::cost(lm_3b_paper()).memory();
  for (const double chunk : {16.0, 2048.0, 4096.0, 1e6}) {
    const double width = 768, ratio = square.compute_to_memory(chunk);
    EXPECT_DOUBLE_EQ(ratio, width / 2 / (1 + width / (2 * chunk)));
    EXPECT_LE(ratio, std::min(width / 2, chunk));
  }
  const FastWeightCost wide = models::cost(nvs_312m()).memory();  // 1536 x 768
  EXPECT_DOUBLE_EQ(wide.compute_to_memory(4096),
                   2.0 * 1536 * 768 * 4096 / (2.0 * (1536 * 768 + 4096 * 1536 + 4096 * 768)));
}

// The paper writes 30 · head width · state, which counts all matrices, but compares one matrix's share of it
// with the work of all three: 5/3 head widths. Counted alike it is 5.
TEST(Cost, MuonBreaksEvenAtFiveHeadWidths) {
  const FastWeightCost cost = models::cost(lm_3b_paper()).memory();
  EXPECT_EQ(cost.head_dim, 768);
  EXPECT_DOUBLE_EQ(cost.muon_flops, 30.0 * 768 * double(cost.state));
  EXPECT_DOUBLE_EQ(cost.break_even_chunk(), 5 * 768);
  EXPECT_DOUBLE_EQ(cost.break_even_chunk() / double(cost.num_matrices), 5.0 / 3 * 768);
}

TEST(Cost, MuonIsSharedByTheTokensOfAChunk) {
  LmConfig config = lm_3b_paper();
  const double once = flops_of(models::cost(config), "Muon");
  config.chunk_size *= 4;
  EXPECT_DOUBLE_EQ(flops_of(models::cost(config), "Muon"), once / 4);
  config.chunk_size = 3840;
  const ModelCost even = models::cost(config);
  EXPECT_DOUBLE_EQ(flops_of(even, "Muon"), flops_of(even, "update") + flops_of(even, "apply"));
}

TEST(Cost, WindowAttentionGrowsWithTheWindow) {
  LmConfig config = lm_760m();
  EXPECT_DOUBLE_EQ(flops_of(models::cost(config), "window attention"), 4.0 * 2048 * 1536);
  config.window_size = 4096;
  EXPECT_DOUBLE_EQ(flops_of(models::cost(config), "window attention"), 4.0 * 4096 * 1536);
  EXPECT_DOUBLE_EQ(
      flops_of(models::cost(nvs_312m(), {.inputs = 4, .image_size = {256, 256}}), "window attention"),
      4.0 * 1024 * 768);
  EXPECT_DOUBLE_EQ(flops_of(models::cost(video_1_3b()), "window attention"), 4.0 * 2 * 4680 * 1536);
}

TEST(Cost, ViewsThatDoNotDivideIntoPatchesAreAMistake) {
  EXPECT_THROW(models::cost(nvs_312m(), {.inputs = 4, .image_size = {100, 100}}), Error);
  EXPECT_THROW(models::cost(nvs_312m(), {.inputs = 0, .image_size = {256, 256}}), Error);
}

TEST(Cost, TiedEmbeddingsAreCountedOnce) {
  LmConfig config = lm_small();
  const ModelCost apart = models::cost(config);
  config.tie_embeddings = true;
  EXPECT_EQ(apart.total().parameters - models::cost(config).total().parameters, 32000 * 768);
  EXPECT_EQ(apart.total().flops, models::cost(config).total().flops);
}

TEST(Cost, FullAttentionOfVideoGrowsWithTheClip) {
  VideoConfig config = video_1_3b();
  config.mixer = MixerKind::full;
  EXPECT_DOUBLE_EQ(flops_of(models::cost(config, {7}), "full attention"), 4.0 * 7 * 4680 * 1536);
  EXPECT_DOUBLE_EQ(flops_of(models::cost(config, {60}), "full attention"), 4.0 * 60 * 4680 * 1536);
  config.mixer = MixerKind::window;
  EXPECT_DOUBLE_EQ(flops_of(models::cost(config, {60}), "window attention"), 4.0 * 2 * 4680 * 1536);
  EXPECT_DOUBLE_EQ(flops_of(models::cost(config, {1}), "window attention"), 4.0 * 4680 * 1536);
  EXPECT_THROW(models::cost(config, {0}), Error);
}

TEST(Cost, VideoWithoutMemoryIsWan) {
  VideoConfig config = video_1_3b();
  for (const MixerKind mixer : {MixerKind::window, MixerKind::full}) {
    config.mixer = mixer;
    EXPECT_EQ(models::cost(config).total().parameters, 1'418'996'800);
    EXPECT_EQ(models::cost(config).total().state, 0);
  }
}

/// What LaCT adds to a block of Wan: fast weights, rates, output scale and norm, scale and shift of q and k.
int64_t added_to_wan(const ModelCost& cost) {
  int64_t added = 0;
  for (const auto& part : cost.block()) {
    for (const char* name : {"fast weights", "rates and gates", "scale and shift of q, k"}) {
      if (part.name == name) added += part.parameters;
    }
  }
  return cost.num_layers * added;
}

// The published checkpoints of Wan 2.1, text to video.
TEST(Cost, VideoModelsAreWanAndFastWeights) {
  const ModelCost small = models::cost(video_1_3b()), large = models::cost(video_14b());
  EXPECT_EQ(small.total().parameters - added_to_wan(small), 1'418'996'800);
  EXPECT_EQ(large.total().parameters - added_to_wan(large), 14'288'491'584);
  EXPECT_DOUBLE_EQ(small.state_in_squares(), 3);
  EXPECT_DOUBLE_EQ(large.state_in_squares(), 0.75);
}

// Small models in the authors' implementation.
TEST(Cost, ParametersAreThoseOfTheAuthorsModels) {
  const auto parameters = [](const ModelConfig& config) {
    return std::visit([](const auto& any) { return models::cost(any).total().parameters; }, config);
  };
  EXPECT_EQ(
      parameters(resolve_config(
          "lm_tiny", {"vocabulary_size=97", "model_dim=64", "num_layers=2", "layer.attention.num_heads=4",
                      "layer.memory.rope_heads=4", "layer.memory.num_heads=2",
                      "layer.memory.initial_weights.rank=4", "feed_forward.hidden_dim=256"})),
      151828);
  EXPECT_EQ(parameters(
                resolve_config("nvs_small", {"model_dim=64", "num_layers=2", "feed_forward.hidden_dim=256"})),
            242758);
  EXPECT_EQ(parameters(resolve_config(
                "video_tiny", {"model_dim=64", "num_layers=2", "layer.memory.num_heads=2",
                               "layer.memory.hidden_multiple=2", "feed_forward.hidden_dim=128", "text_dim=24",
                               "frequency_dim=32", "in_channels=4", "out_channels=4", "patch=[1,2,2]"})),
            166558);
}

// The modules themselves.

class Draw {
 public:
  explicit Draw(uint32_t seed) : random_(seed) {}
  bool coin() { return random_() % 2 == 0; }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return *(values.begin() + random_() % values.size());
  }

 private:
  std::mt19937 random_;
};

constexpr int64_t kWidth = 24;

ProjectionConfig draw_projection(Draw& draw) {
  return {.qkv_bias = draw.coin(), .output_bias = draw.coin(), .qk_norm = draw.coin()};
}

attention::AttentionConfig draw_attention(Draw& draw) {
  attention::AttentionConfig config;
  config.num_heads = draw.one_of<int64_t>({1, 2, 6});
  config.head_norm = draw.coin();
  if (draw.coin()) config.rope = ops::RopeOptions{};
  return config;
}

ttt::LactConfig draw_memory(Draw& draw) {
  ttt::LactConfig config;
  config.num_heads = draw.one_of<int64_t>({1, 2, 4});
  config.hidden_multiple = draw.one_of({0.5, 1.0, 1.4, 3.0});
  config.network = draw.one_of({"swiglu", "linear"});
  config.initial_weights.rank = draw.one_of<int64_t>({0, 2, 5});
  config.update.momentum = draw.coin();
  config.update.muon = draw.coin();
  config.rate_bias = draw.coin();
  if (config.hidden_multiple == 1.0 && draw.coin()) config.rate_channels = kWidth / config.num_heads;
  config.output_norm = draw.coin();
  config.output_scale =
      draw.one_of({ttt::OutputScale::none, ttt::OutputScale::per_head, ttt::OutputScale::per_token});
  return config;
}

constexpr MixerKind kLayerMixers[] = {MixerKind::lact, MixerKind::full,     MixerKind::window,
                                      MixerKind::gla,  MixerKind::deltanet, MixerKind::mamba2,
                                      MixerKind::ttt};

HeadOutputConfig draw_output(Draw& draw) {
  return {.norm = draw.coin(),
          .scale = draw.one_of({OutputScale::none, OutputScale::per_head, OutputScale::per_token})};
}

void draw_recurrences(Draw& draw, HybridLayerConfig& layer) {
  layer.gla.num_heads = draw.one_of<int64_t>({1, 2, 4});
  layer.gla.gate_rank = draw.one_of<int64_t>({1, 7});
  layer.gla.output = draw_output(draw);
  layer.deltanet.num_heads = draw.one_of<int64_t>({1, 3, 6});
  layer.deltanet.output = draw_output(draw);
  layer.mamba2.num_heads = draw.one_of<int64_t>({1, 2, 8});
  layer.mamba2.output = draw_output(draw);
  layer.ttt = ttt::original_ttt(draw.one_of<int64_t>({1, 2, 6}));
  layer.ttt.network = draw.one_of({"ttt_linear", "ttt_mlp"});
}

/// Elements of the tensors of a state whose size does not depend on what was read and that change with it.
int64_t fixed_elements(State& state) {
  struct Counter : StateVisitor {
    int64_t elements = 0;
    void tensor(const std::string& name, at::Tensor& value, int64_t token_dim) override {
      const bool counted =
          name.find("weights") != std::string::npos || name.ends_with("memory") || name.ends_with("reverse");
      if (token_dim < 0 && counted) elements += value.numel();
    }
    void number(const std::string&, int64_t&) override {}
  } counter;
  state.visit(counter, "");
  return counter.elements;
}

/// Of a network whose norm is learned with the model: no state, though a memory holds it.
int64_t never_written(int64_t model_dim, const ttt::LactConfig& config) {
  const int64_t width = model_dim / config.num_heads;
  int64_t elements = 0;
  for (const auto& matrix :
       ttt::network(config.network).matrices(width, int64_t(double(width) * config.hidden_multiple), width))
    if (matrix.fixed) elements += config.num_heads * matrix.out * matrix.in;
  return elements;
}

TEST(Cost, ParametersAndStateAreThoseOfTheLayers) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    Draw draw(seed);
    const ttt::LactConfig memory = draw_memory(draw);
    HybridLayerConfig hybrid;
    hybrid.projection = draw_projection(draw);
    hybrid.attention = draw_attention(draw);
    hybrid.memory = memory;
    hybrid.rescaled = draw.one_of({Rescaled::memory, Rescaled::attention, Rescaled::none});
    draw_recurrences(draw, hybrid);
    const LactLayerConfig lact = {draw_projection(draw), memory};
    const AttentionLayerConfig attention = {draw_projection(draw), draw_attention(draw)};
    const auto message = options::write(hybrid).dump();
    const Surroundings around = {.attended = 8, .chunk = 8};
    for (const MixerKind kind : kLayerMixers) {
      EXPECT_EQ(sum("", layer_cost(kWidth, kind, hybrid, around)).parameters,
                parameters_of(*make_layer(kWidth, kind, hybrid)))
          << options::word_of(kind) << message;
      const auto state = make_layer(kWidth, kind, hybrid)->initial_state(1);
      const int64_t unwritten = kind == MixerKind::ttt ? never_written(kWidth, hybrid.ttt) : 0;
      EXPECT_EQ(sum("", layer_cost(kWidth, kind, hybrid, around)).state + unwritten, fixed_elements(*state))
          << options::word_of(kind) << message;
    }
    EXPECT_EQ(sum("", layer_cost(kWidth, lact, around)).parameters, parameters_of(*make_layer(kWidth, lact)))
        << message;
    EXPECT_EQ(sum("", layer_cost(kWidth, attention, around)).parameters,
              parameters_of(*make_layer(kWidth, attention)))
        << options::write(attention).dump();

    ttt::Lact core(kWidth, memory);
    const auto state = core.initial_state(1);
    int64_t elements = 0;
    for (const auto& weight : dynamic_cast<ttt::LactState&>(*state).memory.weights)
      elements += weight.numel();
    EXPECT_EQ(fast_weight_cost(kWidth, memory).state, elements) << message;
  }
}

TEST(Cost, ParametersAreThoseOfVideoModels) {
  for (const MixerKind mixer : kLayerMixers) {
    VideoConfig config = video_tiny();
    config.mixer = mixer;
    EXPECT_EQ(models::cost(config).total().parameters, parameters_of(VideoModel(config)))
        << options::word_of(mixer);
  }
}

TEST(Cost, ParametersAreThoseOfTheBlocks) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    Draw draw(seed);
    LmConfig lm;
    lm.model_dim = kWidth;
    lm.layer.projection = draw_projection(draw);
    lm.layer.attention = draw_attention(draw);
    lm.layer.memory = draw_memory(draw);
    using nn::FeedForwardKind;
    lm.feed_forward = {
        draw.one_of({FeedForwardKind::swiglu, FeedForwardKind::gelu, FeedForwardKind::gelu_tanh}), 40,
        draw.coin()};
    if (draw.coin()) lm.norm = {nn::NormKind::layer, 1e-5, draw.coin()};
    const Block lm_block(kWidth, lm.norm, {make_layer(kWidth, lm.layer)}, lm.feed_forward);
    EXPECT_EQ(sum("", models::cost(lm).block()).parameters, parameters_of(lm_block))
        << options::write(lm).dump();

    NvsConfig nvs;
    nvs.model_dim = kWidth;
    nvs.attention = {draw_projection(draw), draw_attention(draw)};
    nvs.lact = {draw_projection(draw), draw_memory(draw)};
    nvs.feed_forward = lm.feed_forward;
    nvs.norm = lm.norm;
    const Block nvs_block(kWidth, nvs.norm, {make_layer(kWidth, nvs.attention), make_layer(kWidth, nvs.lact)},
                          nvs.feed_forward);
    EXPECT_EQ(sum("", models::cost(nvs).block()).parameters, parameters_of(nvs_block))
        << options::write(nvs).dump();
  }
}

}  // namespace
}  // namespace lact::models
