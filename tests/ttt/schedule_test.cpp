#include "lact/ttt/schedule.h"

#include <ATen/ATen.h>

#include "support/errors.h"

namespace lact::ttt {
namespace {

/// A mask as rows of '#' and '.'.
std::string drawn(const at::Tensor& mask) {
  std::string text;
  for (int64_t i = 0; i < mask.size(0); ++i) {
    for (int64_t j = 0; j < mask.size(1); ++j) text += mask[i][j].item<bool>() ? '#' : '.';
    text += '\n';
  }
  return text;
}

TEST(Schedule, MasksOfFigureThree) {
  EXPECT_EQ(drawn(schedule_mask(full_schedule(3), 3)), "###\n###\n###\n");
  EXPECT_EQ(drawn(schedule_mask(block_causal_schedule(6, 2), 6)),
            "##....\n##....\n####..\n####..\n######\n######\n");
  EXPECT_EQ(drawn(schedule_mask(shifted_schedule(6, 2), 6)),
            "......\n......\n##....\n##....\n####..\n####..\n");
  EXPECT_EQ(drawn(schedule_mask(strided_schedule(8, 2, 2), 8)),
            "##......\n##......\n##......\n##......\n##..##..\n##..##..\n##..##..\n##..##..\n");
  EXPECT_EQ(drawn(schedule_mask(strided_schedule(4, 1, 2, 1), 4)), "....\n.#..\n.#..\n.#.#\n");
}

TEST(Schedule, LastChunkMayBeRagged) {
  EXPECT_EQ(drawn(schedule_mask(block_causal_schedule(5, 2), 5)), "##...\n##...\n####.\n####.\n#####\n");
  EXPECT_EQ(drawn(schedule_mask(shifted_schedule(5, 2), 5)), ".....\n.....\n##...\n##...\n####.\n");
}

TEST(Schedule, ShiftedScheduleOnlyReadsItsLastChunk) {
  const Schedule schedule = shifted_schedule(8, 4);
  ASSERT_EQ(schedule.size(), 2u);
  EXPECT_EQ(schedule[0], (Step{Operation::apply_then_update, {0, 4}}));
  EXPECT_EQ(schedule[1], (Step{Operation::apply, {4, 8}}));
}

TEST(Schedule, ArbitraryStepsInAnyOrder) {
  const Schedule schedule = {{Operation::update, {4, 6}},
                             {Operation::apply, {0, 2}},
                             {Operation::update, {0, 2}},
                             {Operation::apply, {3, 6}}};
  EXPECT_EQ(drawn(schedule_mask(schedule, 6)), "....##\n....##\n......\n##..##\n##..##\n##..##\n");
}

TEST(Schedule, PiecesOfAnEndlessSequenceWriteAChunkWhenItIsComplete) {
  EXPECT_EQ(shifted_piece(0, 3, 4), (Schedule{{Operation::apply, {0, 3}}}));
  EXPECT_EQ(shifted_piece(3, 1, 4), (Schedule{{Operation::apply, {3, 4}}, {Operation::update, {0, 4}}}));
  EXPECT_EQ(shifted_piece(2, 7, 4), (Schedule{{Operation::apply, {2, 4}},
                                              {Operation::update, {0, 4}},
                                              {Operation::apply, {4, 8}},
                                              {Operation::update, {4, 8}},
                                              {Operation::apply, {8, 9}}}));
}

TEST(Schedule, MistakesGetASentence) {
  EXPECT_SENTENCE(shifted_schedule(8, 0), "the chunk is 0 tokens long");
  EXPECT_SENTENCE(block_causal_schedule(0, 4), "the sequence has 0 tokens");
  EXPECT_SENTENCE(strided_schedule(8, 2, 0), "the stride is 0 chunks");
  EXPECT_SENTENCE(strided_schedule(8, 2, 2, 2), "the phase is 2");
  EXPECT_SENTENCE(shifted_piece(-1, 2, 4), "begins at -1");
  const auto check = [](const Schedule& schedule) { check_schedule(schedule, {0, 8}, {0, 8}); };
  EXPECT_SENTENCE(check({{Operation::apply, {4, 9}}}), "apply_only [4, 9) is out of range");
  EXPECT_SENTENCE(check({{Operation::update, {-1, 3}}}), "update_only [-1, 3) is out of range");
  EXPECT_SENTENCE(check({{Operation::update, {3, 3}}}), "is an empty range");
  EXPECT_SENTENCE(check({{Operation::update, {0, 4}}, {Operation::update_then_apply, {3, 8}}}),
                  "a token is written twice");
  EXPECT_SENTENCE(check({{Operation::apply, {0, 4}}, {Operation::apply_then_update, {2, 3}}}),
                  "a token is read twice");
}

}  // namespace
}  // namespace lact::ttt
