#include "lact/mixers/layout.h"

#include <ATen/ATen.h>

#include "lact/ops/attention/windows.h"
#include "support/errors.h"

namespace lact {
namespace {

TEST(Layout, TextMasksUnionIsCausalWhenTheWindowCoversTheChunk) {
  const at::Tensor causal = at::ones({13, 13}, at::kBool).tril();
  EXPECT_TRUE(layout_mask(causal_layout(13, 4, 4)).equal(causal));
  EXPECT_TRUE(layout_mask(causal_layout(13, 4, 9)).equal(causal));
  EXPECT_FALSE(layout_mask(causal_layout(13, 4, 3)).equal(causal));
}

TEST(Layout, TargetViewsSeeInputsAndThemselvesOnly) {
  const at::Tensor mask = layout_mask(views_layout(2, 2, 3));
  for (int64_t i = 0; i < 12; ++i) {
    for (int64_t j = 0; j < 12; ++j) {
      const bool sees = j < 6 || j / 3 == i / 3;
      EXPECT_EQ(mask[i][j].item<bool>(), sees) << i << " " << j;
    }
  }
}

TEST(Layout, RenderingOnlyReads) {
  const auto layout = views_layout(0, 2, 4);
  EXPECT_EQ(layout.schedule, (ttt::Schedule{{ttt::Operation::apply, {0, 8}}}));
}

TEST(Layout, VideoDenoisingSeesOnlyEarlierCleanChunks) {
  // Chunks n1 c1 n2 c2 n3 of two tokens each.
  const auto layout = interleaved_layout(3, {1, 1, 2}, 1);
  ASSERT_EQ(layout.tokens, 10);
  const at::Tensor mask = layout_mask(layout);
  const auto sees = [&](int64_t query_chunk, int64_t key_chunk) {
    return mask[2 * query_chunk][2 * key_chunk + 1].item<bool>();
  };
  const std::vector<std::string> expected = {"#....",   // n1: itself
                                             ".#...",   // c1: itself, written before it is read
                                             ".##..",   // n2: c1 and itself
                                             ".#.#.",   // c2: c1, c2
                                             ".#.##"};  // n3: c1, c2 and itself
  for (int64_t i = 0; i < 5; ++i) {
    for (int64_t j = 0; j < 5; ++j) EXPECT_EQ(sees(i, j), expected[i][j] == '#') << i << " " << j;
  }
}

TEST(Layout, NoisyCopiesDoNotSeeEachOtherAndSharePositions) {
  const auto layout = interleaved_layout(2, {2, 1, 3}, 2);  // n1 n1' c1 n2 n2', 6 tokens each
  ASSERT_EQ(layout.tokens, 30);
  const at::Tensor mask = layout_mask(layout);
  EXPECT_FALSE(mask[0][6].item<bool>());
  EXPECT_FALSE(mask[18][24].item<bool>());
  EXPECT_TRUE(mask[24][12].item<bool>());
  const auto positions = layout.positions.split(6);
  EXPECT_TRUE(positions[0].equal(positions[1]));
  EXPECT_TRUE(positions[0].equal(positions[2]));
  EXPECT_TRUE(positions[3].equal(positions[4]));
  EXPECT_TRUE(positions[3].select(1, 0).equal(positions[0].select(1, 0) + 2));
  EXPECT_TRUE(positions[3].slice(1, 1).equal(positions[0].slice(1, 1)));
}

TEST(Layout, WindowOfTheVideoCanBeShortened) {
  const auto window = ops::window_mask(interleaved_layout(2, {1, 1, 4}, 1, 1).window, 12);
  EXPECT_FALSE(window[8][6].item<bool>());
  EXPECT_TRUE(window[8][7].item<bool>());
}

TEST(Layout, ChunksOfAVideoBeingSampledFollowCleanOnes) {
  const ChunkGrid grid = {2, 1, 3};
  const auto noisy = noisy_piece(4, grid, 5), clean = clean_piece(4, grid, 5);
  const auto whole = interleaved_layout(5, grid, 1, 5);
  EXPECT_TRUE(noisy.positions.equal(whole.positions.slice(0, 48)));
  EXPECT_TRUE(clean.positions.equal(noisy.positions));
  EXPECT_EQ(noisy.schedule, (ttt::Schedule{{ttt::Operation::apply, {24, 30}}}));
  EXPECT_EQ(clean.schedule, (ttt::Schedule{{ttt::Operation::update_then_apply, {24, 30}}}));
  EXPECT_EQ(noisy.window, (ops::Window{{{{24, 30}, {{{19, 24}}, {{24, 30}}}}}}));
  EXPECT_EQ(clean.window, (ops::Window{{{{24, 30}, {{{24, 30}}}}}}));
  EXPECT_EQ(clean.keep_keys_from, 25);
  EXPECT_TRUE(noisy.keeps_nothing());
  EXPECT_EQ(noisy_piece(0, grid).window, (ops::Window{{{{0, 6}, {{{0, 6}}}}}}));
  EXPECT_SENTENCE(noisy_piece(-1, grid), "chunk -1, expected 0 or more");
  EXPECT_SENTENCE(clean_piece(1, grid, 7), "7 visible tokens of a clean chunk of 6");
}

TEST(Layout, FullAttentionSeesTheUnionOfMemoryAndWindow) {
  for (const auto& layout : {causal_layout(17, 4, 4), views_layout(3, 2, 4), views_layout(0, 3, 2),
                             interleaved_layout(3, {1, 2, 2}, 1), interleaved_layout(3, {1, 1, 3}, 2, 1)}) {
    EXPECT_TRUE(ops::window_mask(full_window(layout), layout.tokens).equal(layout_mask(layout)));
  }
}

TEST(Layout, FullAttentionOfATextSeesAllBefore) {
  const at::Tensor causal = at::ones({17, 17}, at::kBool).tril();
  for (const auto& layout : {causal_layout(17, 5, 2), causal_layout(17, 4, 1), causal_layout(17, 40, 3)})
    EXPECT_TRUE(ops::window_mask(full_window(layout), 17).equal(causal));
  // What a state keeps and the tokens of a piece are one range, as in the whole.
  EXPECT_EQ(full_window(causal_piece(10, 7, 4, 3), 10), (ops::Window{{{{10, 17}, {{{0, 17}, 17}}}}}));
}

TEST(Layout, FullAttentionOfVideoAndViewsSeesWhatAStateKeeps) {
  const ChunkGrid grid = {1, 2, 3};
  EXPECT_EQ(full_window(noisy_piece(2, grid, 4), 12), (ops::Window{{{{12, 18}, {{{0, 12}}, {{12, 18}}}}}}));
  EXPECT_EQ(full_window(clean_piece(0, grid)), (ops::Window{{{{0, 6}, {{{0, 6}}}}}}));
  auto views = views_layout(0, 2, 3);
  EXPECT_EQ(full_window(views, 9),
            (ops::Window{{{{0, 3}, {{{-9, 0}}, {{0, 3}}}}, {{3, 6}, {{{-9, 0}}, {{3, 6}}}}}}));
  views.window = {};
  EXPECT_EQ(full_window(views, 9), (ops::Window{{{{0, 6}, {{{-9, 0}}}}}}));
  views.stretches.clear();
  EXPECT_SENTENCE(full_window(views), "there are none");
}

TEST(Layout, ARecurrenceKnowsWhatItPassedOver) {
  const auto expect = [](const SequenceLayout& layout, const std::vector<std::string>& rows) {
    const at::Tensor mask = recurrence_mask(layout);
    ASSERT_EQ(mask.size(0), int64_t(rows.size()));
    for (int64_t i = 0; i < layout.tokens; ++i) {
      std::string row;
      for (int64_t j = 0; j < layout.tokens; ++j) row += mask[i][j].item<bool>() ? '#' : '.';
      EXPECT_EQ(row, rows[size_t(i)]) << "token " << i;
    }
  };
  expect(causal_layout(3, 2, 1), {"#..", "##.", "###"});
  // Two input views and a target, two tokens each; the target only reads.
  expect(views_layout(2, 1, 2), {"####..", "####..", "####..", "####..", "####..", "####.."});
  expect(views_layout(0, 1, 2), {"..", ".."});
  // n1 n1' c1 n2 n2': a noisy chunk is forgotten, a clean one is not.
  expect(interleaved_layout(2, {1, 1, 2}, 2),
         {"#.........", "##........", "..#.......", "..##......", "....#.....", "....##....",  //
          "....###...", "....####..", "....##..#.", "....##..##"});
  // Neighbours are one set.
  SequenceLayout layout = views_layout(2, 0, 1);
  layout.stretches = {{{0, 1}}, {{1, 2}}};
  expect(layout, {"##", "##"});
  EXPECT_SENTENCE(recurrence_mask(causal_piece(3, 2, 2, 2)), "this piece begins at token 3");
}

TEST(Layout, FullAttentionSeesOnlyWhatIsWrittenWhereWritesLeaveGaps) {
  SequenceLayout layout = views_layout(1, 5, 2);
  for (const std::vector<int64_t>& order : {std::vector<int64_t>{8, 0, 4}, {4, 0, 8, 6}, {0, 4, 2, 10}}) {
    layout.schedule.clear();
    for (const int64_t begin : order) layout.schedule.push_back({ttt::Operation::update, {begin, begin + 2}});
    layout.schedule.push_back({ttt::Operation::apply, {0, 12}});
    EXPECT_TRUE(ops::window_mask(full_window(layout), layout.tokens).equal(layout_mask(layout)));
  }
}

TEST(Layout, PiecesCoverTheSequenceAndSayWhatToKeep) {
  const auto piece = causal_piece(10, 7, 4, 6);
  EXPECT_EQ(piece.end(), 17);
  EXPECT_EQ(piece.keep_writes_from, 16);
  EXPECT_EQ(piece.keep_keys_from, 11);  // token 16 may be forgotten, and read once more
  EXPECT_EQ(piece.positions[0][0].item<int64_t>(), 10);
}

TEST(Layout, EveryLayerGetsTheSameTableOfAngles) {
  SequenceLayout layout = causal_layout(9, 4, 4);
  const auto table = layout.rope_table(8, {.base = 100}, at::kCPU);
  EXPECT_TRUE(layout.rope_table(8, {.base = 100}, at::kCPU).cos.is_same(table.cos));
  EXPECT_FALSE(layout.rope_table(8, {.base = 200}, at::kCPU).cos.equal(table.cos));
  EXPECT_EQ(layout.rope_table(6, {.base = 100}, at::kCPU).cos.size(1), 3);
  // Angles belong to positions, also where these are changed.
  SequenceLayout later = layout;
  later.positions = layout.positions + 5;
  const auto moved = later.rope_table(8, {.base = 100}, at::kCPU);
  EXPECT_TRUE(moved.cos.equal(ops::rope_table(later.positions, 8, {.base = 100}).cos));
  EXPECT_TRUE(layout.rope_table(8, {.base = 100}, at::kCPU).cos.equal(table.cos));
}

TEST(Layout, MistakesGetASentence) {
  EXPECT_SENTENCE(causal_layout(8, 0, 4), "the chunk is 0 tokens long");
  EXPECT_SENTENCE(causal_layout(8, 4, 0), "the window is 0 tokens wide");
  EXPECT_SENTENCE(causal_layout(0, 4, 4), "the sequence has 0 tokens");
  EXPECT_SENTENCE(views_layout(0, 0, 4), "expected at least one view");
  EXPECT_SENTENCE(views_layout(1, 1, 0), "a block is 0 tokens long");
  EXPECT_SENTENCE(interleaved_layout(0, {1, 1, 4}, 1), "0 chunks");
  EXPECT_SENTENCE(interleaved_layout(2, {1, 0, 4}, 1), "1 frames of 0 x 4 tokens");
  EXPECT_SENTENCE(interleaved_layout(2, {1, 1, 4}, 0), "0 noisy copies");
  EXPECT_SENTENCE(interleaved_layout(2, {1, 1, 4}, 1, 5), "5 visible tokens");
}

}  // namespace
}  // namespace lact
