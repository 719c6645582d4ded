#include <torch/autograd.h>

#include <cmath>

#include "lact/base/threads.h"
#include "lact/kernels/attention.h"
#include "lact/kernels/attention_query.h"
#include "lact/mixers/layout.h"
#include "lact/ops/attention/window_attention.h"
#include "lact/ops/attention/windows.h"
#include "lact/ops/dispatch/paths.h"
#include "support/gradients.h"
#include "support/instruction_sets.h"

namespace lact::ops {
namespace {

using lact::testing::for_each_isa;

using lact::testing::difference;

struct WindowCase {
  std::string name;
  Window window;
  int64_t queries, keys, heads, width, value_width;
  int64_t first_query = 0, first_key = 0;
};

std::vector<WindowCase> cases() {
  const auto video = interleaved_layout(3, {2, 5, 7}, 2, 33);
  const auto full = interleaved_layout(2, {1, 9, 9}, 1);
  return {
      {"sliding", sliding_window({0, 1000}, 300), 1000, 1000, 2, 64, 64},
      {"sliding, narrow", sliding_window({0, 200}, 5), 200, 200, 2, 16, 16},
      {"sliding, one key", sliding_window({0, 63}, 1), 63, 63, 1, 32, 32},
      {"one token", sliding_window({0, 1}, 4), 1, 1, 3, 24, 24},
      {"seven tokens", sliding_window({0, 7}, 4), 7, 7, 3, 24, 40},
      {"wide heads", sliding_window({0, 130}, 70), 130, 130, 1, 256, 200},
      {"heads one number wide", sliding_window({0, 70}, 70), 70, 70, 2, 1, 1},
      {"keys that count otherwise",
       {{{{0, 70}, {{{10, 110}, 40, 37}}}, {{70, 150}, {{{0, 9}, 0}, {{110, 260}, 60, 100}}}}},
       150,
       260,
       2,
       32,
       32},
      {"blocks", block_window(300, 100), 300, 300, 2, 33, 47},
      {"blocks of three", block_window(30, 3), 30, 30, 5, 20, 80},
      {"video", video.window, video.tokens, video.tokens, 2, 48, 48},
      {"everything before", full_window(full), full.tokens, full.tokens, 2, 40, 24},
      {"a later piece", sliding_window({500, 700}, 150, 351), 200, 349, 2, 64, 64, 500, 351},
      {"blocks in tiles", block_window(300, 100), 300, 300, 2, 32, 96},
      {"video in tiles", video.window, video.tokens, video.tokens, 1, 128, 64},
      {"narrow window in tiles", sliding_window({0, 333}, 5), 333, 333, 1, 96, 32},
      {"no block, in tiles", {{{{10, 40}, {{{0, 50}}}}, {{60, 67}, {{{50, 64}, 8}}}}}, 90, 64, 1, 64, 32},
      {"one later query", sliding_window({2100, 2101}, 2048), 1, 2101, 3, 64, 96, 2100, 0},
      {"queries in no block", {{{{10, 40}, {{{0, 50}}}}, {{60, 61}, {{{50, 64}, 8}}}}}, 90, 64, 2, 16, 16}};
}

struct Tensors {
  at::Tensor q, k, v, weighting;
};

Tensors tensors_of(const WindowCase& c, int64_t batch, at::ScalarType type) {
  at::manual_seed(11);
  const auto make = [&](int64_t tokens, int64_t width) {
    return at::randn({batch, tokens, c.heads, width}).to(type);
  };
  return {make(c.queries, c.width), make(c.keys, c.width), make(c.keys, c.value_width),
          make(c.queries, c.value_width)};
}

struct AttentionResults {
  at::Tensor out, q, k, v;
};

template <class Function>
AttentionResults run(Function function, const WindowCase& c, const Tensors& in) {
  const auto leaf = [](const at::Tensor& x) { return x.detach().requires_grad_(true); };
  const at::Tensor q = leaf(in.q), k = leaf(in.k), v = leaf(in.v);
  const at::Tensor out = function(q, k, v, c.window, c.first_query, c.first_key);
  out.backward(in.weighting);
  return {out.detach(), q.grad(), k.grad(), v.grad()};
}

/// The reference in float64 on the same numbers.
AttentionResults truth(const WindowCase& c, const Tensors& in) {
  const auto wide = [](const at::Tensor& x) { return x.to(at::kDouble); };
  return run(reference::window_attention, c, {wide(in.q), wide(in.k), wide(in.v), wide(in.weighting)});
}

void expect_close(const AttentionResults& own, const AttentionResults& expected, double tolerance,
                  const std::string& name) {
  EXPECT_LT(difference(own.out, expected.out), tolerance) << name << ", output";
  EXPECT_LT(difference(own.q, expected.q), tolerance) << name << ", gradient of q";
  EXPECT_LT(difference(own.k, expected.k), tolerance) << name << ", gradient of k";
  EXPECT_LT(difference(own.v, expected.v), tolerance) << name << ", gradient of v";
}

TEST(WindowAttentionFused, EqualsTheReferenceInFloat32) {
  for (const auto& c : cases()) {
    const Tensors in = tensors_of(c, 2, at::kFloat);
    ASSERT_TRUE(fused::fits_window_attention(in.q, in.k, in.v));
    const AttentionResults expected = truth(c, in);
    for_each_isa([&](const std::string& isa) {
      expect_close(run(fused::window_attention, c, in), expected, 5e-6, c.name + ", " + isa);
    });
  }
}

TEST(WindowAttentionFused, IsCloseInBfloat16WithAndWithoutPairs) {
  for (const auto& c : cases()) {
    const Tensors in = tensors_of(c, 1, at::kBFloat16);
    const AttentionResults expected = truth(c, in);
    for_each_isa([&](const std::string& isa) {
      for (const bool pairs : {false, true}) {
        kernels::set_multiplies_pairs(pairs);
        const AttentionResults own = run(fused::window_attention, c, in);
        kernels::set_multiplies_pairs(false);
        EXPECT_EQ(own.out.scalar_type(), at::kBFloat16);
        EXPECT_EQ(own.k.scalar_type(), at::kBFloat16);
        // Half a unit in the last place is 2^-9; the output's own rounding enters rowsum(dO * O).
        expect_close(own, expected, 0.02, c.name + ", " + isa + (pairs ? ", pairs" : ""));
      }
    });
  }
}

TEST(WindowAttentionFused, ReadsStridedHeadsAndGradients) {
  const WindowCase c = {"", sliding_window({0, 150}, 40), 150, 150, 3, 20, 20};
  // One projection that is split into q, k and v: rows lie far apart, heads beside each other.
  at::manual_seed(12);
  const at::Tensor joint = at::randn({2, 150, 3 * 3 * 20 + 7});
  const auto part = [&](int64_t i) { return joint.slice(2, i * 60, (i + 1) * 60).view({2, 150, 3, 20}); };
  const Tensors in = {part(0), part(1), part(2), at::randn({2, 3, 150, 20}).transpose(1, 2)};
  ASSERT_TRUE(fused::fits_window_attention(in.q, in.k, in.v));
  ASSERT_FALSE(in.q.is_contiguous());
  expect_close(run(fused::window_attention, c, in), truth(c, in), 5e-6, "split projection");

  // [B, H, T, D] seen as [B, T, H, D], one sequence for all of a batch, and a gradient without rows.
  const auto turned = [] { return at::randn({2, 3, 150, 20}).transpose(1, 2); };
  const Tensors other = {turned(), at::randn({1, 150, 3, 20}).expand({2, 150, 3, 20}), turned(),
                         at::ones({1}).expand({2, 150, 3, 20})};
  ASSERT_TRUE(fused::fits_window_attention(other.q, other.k, other.v));
  expect_close(run(fused::window_attention, c, other), truth(c, other), 5e-6, "transposed");
}

TEST(WindowAttentionFused, HugeScoresDoNotOverflow) {
  const WindowCase c = {"", sliding_window({0, 200}, 64), 200, 200, 2, 16, 16};
  Tensors in = tensors_of(c, 1, at::kFloat);
  for (const float sign : {1.f, -1.f}) {
    // All scores are about sign · 10,000, with differences of some units between keys.
    in.q = at::full_like(in.q, 100);
    in.k = sign * 25 + 1e-2 * at::randn_like(in.k);
    const AttentionResults own = run(fused::window_attention, c, in), expected = truth(c, in);
    for (const auto& x : {own.out, own.q, own.k, own.v}) EXPECT_TRUE(at::isfinite(x).all().item<bool>());
    // A score of 10,000 in float32 is known to within 1e-3.
    expect_close(own, expected, 1e-2, "huge scores");
  }
  // Scores from -10,000 to 10,000: nearly all of the weight is on one key.
  in = tensors_of(c, 1, at::kFloat);
  in.q = in.q * 100, in.k = in.k * 100;
  const AttentionResults own = run(fused::window_attention, c, in), expected = truth(c, in);
  EXPECT_LT(difference(own.out, expected.out), 1e-2);
  for (const auto& x : {own.out, own.q, own.k, own.v}) EXPECT_TRUE(at::isfinite(x).all().item<bool>());
}

TEST(WindowAttentionFused, NotANumberIsNotHidden) {
  const WindowCase c = {"", sliding_window({0, 100}, 30), 100, 100, 1, 16, 16};
  const Tensors in = tensors_of(c, 1, at::kFloat);
  in.k[0][50][0][3] = std::nan("");
  const at::Tensor bad = fused::window_attention(in.q, in.k, in.v, c.window, 0, 0).isnan().any(3).flatten();
  for (int64_t i = 50; i < 80; ++i) EXPECT_TRUE(bad[i].item<bool>()) << i;
  EXPECT_FALSE(bad.slice(0, 0, 50).any().item<bool>());
  EXPECT_FALSE(bad.slice(0, 80).any().item<bool>());
  const at::Tensor one =
      fused::window_attention(in.q.slice(1, 60, 61), in.k, in.v, {{{{60, 61}, {{{40, 61}}}}}}, 60, 0);
  EXPECT_TRUE(one.isnan().all().item<bool>());
}

TEST(WindowAttentionFused, AQueryOfABlockThatSeesNoKeyGivesZeros) {
  // Queries 0 to 9 come before all keys of their band.
  const WindowCase c = {"", {{{{0, 20}, {{{10, 40}, 3}}}}}, 40, 40, 1, 8, 8};
  const Tensors in = tensors_of(c, 1, at::kFloat);
  const AttentionResults own = run(fused::window_attention, c, in);
  EXPECT_EQ(own.out.slice(1, 0, 10).abs().max().item<float>(), 0);
  EXPECT_EQ(own.q.slice(1, 0, 10).abs().max().item<float>(), 0);
  WindowCase later = c;
  later.window.blocks[0].queries.begin = 10;
  expect_close(own, truth(later, in), 5e-6, "the others");
}

TEST(WindowAttentionFused, OnlyWantedGradientsAreMade) {
  const WindowCase c = {"", sliding_window({0, 90}, 30), 90, 90, 2, 24, 24};
  const Tensors in = tensors_of(c, 1, at::kFloat);
  const AttentionResults expected = truth(c, in);
  for (int wanted = 1; wanted < 8; ++wanted) {
    const auto leaf = [&](const at::Tensor& x, int bit) {
      return x.clone().requires_grad_((wanted & bit) != 0);
    };
    const at::Tensor q = leaf(in.q, 1), k = leaf(in.k, 2), v = leaf(in.v, 4);
    fused::window_attention(q, k, v, c.window, 0, 0).backward(in.weighting);
    const auto check = [&](const at::Tensor& x, const at::Tensor& gradient, int bit) {
      ASSERT_EQ(x.grad().defined(), (wanted & bit) != 0);
      if (!x.grad().defined()) return;
      EXPECT_LT(difference(x.grad(), gradient), 5e-6) << wanted;
    };
    check(q, expected.q, 1), check(k, expected.k, 2), check(v, expected.v, 4);
  }
  EXPECT_FALSE(fused::window_attention(in.q, in.k, in.v, c.window, 0, 0).requires_grad());
}

/// One head through the kernels themselves, all memory that they are given filled with NaN.
TEST(WindowAttentionFused, WhatMemoryHeldBeforeDoesNotMatter) {
  const int64_t tokens = 77, width = 20, columns = 32;
  at::manual_seed(13);
  const at::Tensor q = at::randn({tokens, width}), k = at::randn({tokens, width}),
                   v = at::randn({tokens, width}), slope = at::randn({tokens, width});
  const auto poisoned = [](at::IntArrayRef sizes) { return at::full(sizes, NAN); };
  const auto words = [](const at::Tensor& x) { return static_cast<uint32_t*>(x.data_ptr()); };
  const kernels::VisibleRows range = {0, tokens, -29, 0};  // a band of 30 keys
  const kernels::QueriesAndKeys piece = {0, tokens, &range, 1};
  const kernels::AttentionHead head = {{q.data_ptr(), width},
                                       {k.data_ptr(), width},
                                       {v.data_ptr(), width},
                                       width,
                                       width,
                                       float(1 / std::sqrt(double(width)))};
  const Window window = sliding_window({0, tokens}, 30);
  const auto tensor = [&](const at::Tensor& x) { return x.view({1, tokens, 1, width}); };
  const AttentionResults expected =
      truth({"", window, tokens, tokens, 1, width, width}, {tensor(q), tensor(k), tensor(v), tensor(slope)});
  for_each_isa([&](const std::string& isa) {
    const auto& forward = kernels::attention_forward_kernels().f32;
    const auto& backward = kernels::attention_backward_kernels().f32;
    const at::Tensor out = poisoned({tokens, width}), log_sums = poisoned({tokens}),
                     products = poisoned({tokens});
    forward.tiles(head, piece, {out.data_ptr(), width}, log_sums.data_ptr<float>(),
                  words(poisoned({forward.space(head, tokens, tokens)})));
    backward.row_products({out.data_ptr(), width}, {slope.data_ptr(), width}, tokens, width,
                          products.data_ptr<float>());
    const at::Tensor q_sums = at::zeros({tokens + 8, columns}), dq = poisoned({tokens, width}),
                     dk = poisoned({tokens, width}), dv = poisoned({tokens, width});
    backward.key_block(
        head, {{slope.data_ptr(), width}, log_sums.data_ptr<float>(), products.data_ptr<float>()}, 0, tokens,
        &piece, 1, {q_sums.data_ptr<float>(), 0, {dk.data_ptr(), width}, {dv.data_ptr(), width}},
        words(poisoned({backward.space(head, tokens)})));
    backward.write_rows(q_sums.data_ptr<float>(), columns, tokens, width, head.scale, {dq.data_ptr(), width});
    expect_close({tensor(out), tensor(dq), tensor(dk), tensor(dv)}, expected, 5e-6, isa);

    const auto& query = kernels::attention_query_kernels();
    const at::Tensor row = poisoned({tokens, width});
    const auto kept = [&](kernels::HeadRows rows) {
      return kernels::KeptRows{rows.numbers, rows.stride, width, nullptr, 0};
    };
    const kernels::QueryHeads heads = {static_cast<const float*>(head.q.numbers) + 40 * head.q.stride,
                                       0,
                                       false,
                                       kept(head.k),
                                       kept(head.v),
                                       1,
                                       width,
                                       width,
                                       head.scale};
    const at::Tensor memory = poisoned({query.space(heads)});
    uint32_t* seen = words(memory);
    query.start(heads, seen);
    const int64_t first = std::max(piece.ranges[0].begin, 40 + piece.ranges[0].oldest);
    query.f32(heads, first, std::min(piece.ranges[0].end, 41 + piece.ranges[0].newest), seen);
    query.finish(heads, seen, {row[40].data_ptr(), 0, nullptr, 0});
    EXPECT_LT(difference(row[40], expected.out[0][40][0]), 5e-6) << isa;
    EXPECT_EQ(row.isnan().sum().item<int64_t>(), (tokens - 1) * width);
  });
}

TEST(WindowAttentionFused, TwoRunsGiveTheSameBitsOnSeveralThreads) {
  // One head on three threads shares out the keys; seven heads do not divide evenly.
  const int before = threads_in_use();
#if !defined(__SANITIZE_THREAD__)  // which takes LibTorch's own threads for a race, and brings four of ours
  use_threads(3);
#endif
  for (const int64_t heads : {1, 3, 7}) {
    const WindowCase c = {"", sliding_window({0, 1400}, 200), 1400, 1400, heads, 32, 32};
    const Tensors in = tensors_of(c, 1, at::kFloat);
    const AttentionResults first = run(fused::window_attention, c, in),
                           second = run(fused::window_attention, c, in);
    EXPECT_TRUE(first.out.equal(second.out));
    EXPECT_TRUE(first.q.equal(second.q));
    EXPECT_TRUE(first.k.equal(second.k));
    EXPECT_TRUE(first.v.equal(second.v));
    expect_close(first, truth(c, in), 5e-6, "threads");
  }
  use_threads(before);
}

TEST(WindowAttentionFused, OtherTensorsGoToTheReference) {
  const at::Tensor x = at::randn({1, 6, 2, 4});
  const at::Tensor turned = at::randn({1, 6, 4, 2}).transpose(2, 3);
  EXPECT_FALSE(fused::fits_window_attention(x.to(at::kDouble), x.to(at::kDouble), x.to(at::kDouble)));
  EXPECT_FALSE(fused::fits_window_attention(x, x, x.to(at::kBFloat16)));
  EXPECT_FALSE(fused::fits_window_attention(turned, x, x));
  EXPECT_FALSE(fused::fits_window_attention(x, x.slice(1, 0, 0), x.slice(1, 0, 0)));
  const Window window = sliding_window({0, 6}, 3);
  EXPECT_LT(
      difference(window_attention(turned, x, x, window), window_attention(turned.contiguous(), x, x, window)),
      1e-5);
  set_fused_paths(false);
  const at::Tensor plain = window_attention(x, x, x, window);
  set_fused_paths(true);
  EXPECT_TRUE(plain.equal(reference::window_attention(x, x, x, window, 0, 0)));
}

}  // namespace
}  // namespace lact::ops
