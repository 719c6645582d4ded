// Groups of ranks, which are threads here: what they move, in which order, and what gradients it has.
#include "lact/parallel/group.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "lact/parallel/collectives.h"
#include "lact/parallel/world.h"
#include "support/errors.h"

namespace lact::parallel {
namespace {

class Groups : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_join()) GTEST_SKIP() << "this build joins no ranks";
  }
};

TEST_F(Groups, AloneEverythingIsTheIdentity) {
  const Group alone;
  const at::Tensor x = at::arange(6, at::kFloat).view({3, 2});
  alone.sum(x, "test");
  EXPECT_TRUE(alone.exchange(x, {3}, {3}, "test").equal(x));
  EXPECT_TRUE(alone.gather(x, "test").equal(x.unsqueeze(0)));
  EXPECT_TRUE(sum(x, alone, "test").is_same(x));
  EXPECT_EQ(World().place(), Place());
}

TEST_F(Groups, SumsOfEveryTypeAndLayout) {
  run_as_threads({3, 1, 1}, [](const World& world) {
    const auto rank = double(world.all.rank());
    for (const auto type : {at::kFloat, at::kDouble, at::kBFloat16, at::kLong}) {
      at::Tensor x = at::full({4, 3}, rank + 1, type);
      world.all.sum(x, "test");
      EXPECT_TRUE(x.eq(6).all().item<bool>()) << x;
      at::Tensor wide = at::full({4, 6}, rank + 1, type);
      const at::Tensor turned = wide.t().narrow(0, 0, 3);
      world.all.sum(turned, "test");
      EXPECT_TRUE(turned.eq(6).all().item<bool>());
      EXPECT_TRUE(wide.narrow(1, 3, 3).eq(rank + 1).all().item<bool>());
    }
  });
}

TEST_F(Groups, ASumOfBfloat16IsRoundedOnce) {
  run_as_threads({2, 1, 1}, [](const World& world) {
    // 1 + 2⁻⁸ is no bfloat16; half of it from each rank adds up before it is rounded.
    at::Tensor x = at::full({1}, world.all.rank() == 0 ? 256.0 : 1.0, at::kBFloat16);
    world.all.sum(x, "test");
    EXPECT_EQ(x.item<float>(), at::full({1}, 257.0).to(at::kBFloat16).item<float>());
  });
}

TEST_F(Groups, RowsGoWhereTheyAreSent) {
  run_as_threads({3, 1, 1}, [](const World& world) {
    const int64_t me = world.all.rank();
    for (const auto type : {at::kFloat, at::kDouble, at::kBFloat16}) {
      // Rank r sends r + s rows to rank s, each with 10 r + s.
      std::vector<int64_t> to, from;
      std::vector<at::Tensor> rows;
      for (int64_t other = 0; other < 3; ++other) {
        to.push_back(me + other), from.push_back(me + other);
        rows.push_back(at::full({me + other, 2}, double(10 * me + other), type));
      }
      const at::Tensor come = world.all.exchange(at::cat(rows), to, from, "test");
      int64_t next = 0;
      for (int64_t other = 0; other < 3; ++other) {
        const at::Tensor part = come.narrow(0, next, me + other);
        EXPECT_TRUE(part.eq(double(10 * other + me)).all().item<bool>());
        next += me + other;
      }
    }
    const at::Tensor all = world.all.gather(at::full({2}, double(me)), "test");
    EXPECT_TRUE(all.select(1, 0).equal(at::arange(3, at::kFloat)));
  });
}

TEST_F(Groups, GradientsOfASumAreSummed) {
  run_as_threads({2, 1, 1}, [](const World& world) {
    const double me = double(world.all.rank()) + 1;
    const at::Tensor x = at::full({2}, me, at::kDouble).requires_grad_(true);
    // Rank 1 says 3 y, rank 2 says 4 y, of y = x1 + x2.
    (sum(x, world.all, "test") * (me + 2)).sum().backward();
    EXPECT_TRUE(x.grad().eq(7).all().item<bool>());
  });
}

TEST_F(Groups, GradientsOfAnExchangeGoBack) {
  run_as_threads({2, 1, 1}, [](const World& world) {
    const int64_t me = world.all.rank();
    const at::Tensor x = at::ones({3, 2}, at::kDouble).requires_grad_(true);
    const at::Tensor come = exchange(x, {1, 2}, {me + 1, me + 1}, world.all, "test");
    (come * double(me + 1)).sum().backward();
    EXPECT_TRUE(x.grad()[0].eq(1).all().item<bool>());
    EXPECT_TRUE(x.grad().narrow(0, 1, 2).eq(2).all().item<bool>());
  });
}

TEST_F(Groups, ARankThatUsesNothingStillTakesPartInTheWayBack) {
  run_as_threads({2, 1, 1}, [](const World& world) {
    const int64_t me = world.all.rank();
    const at::Tensor x = at::ones({2, 2}, at::kDouble).requires_grad_(true);
    const at::Tensor come = exchange(x, {1, 1}, {1, 1}, world.all, "test");
    const at::Tensor own = at::ones({1}, at::kDouble).requires_grad_(true);
    (me == 0 ? tie(own, {come}).sum() : (come * 5).sum()).backward();
    EXPECT_TRUE(x.grad()[0].eq(0).all().item<bool>());
    EXPECT_TRUE(x.grad()[1].eq(5).all().item<bool>());
  });
}

TEST_F(Groups, AxesOfAMeshAreApart) {
  run_as_threads({2, 2, 2}, [](const World& world) {
    const at::Tensor rank = at::full({1}, double(world.all.rank()));
    const Place place = world.place();
    const auto of = [&](const Group& group) { return group.gather(rank, "test").flatten(); };
    const double first = double(place.data * 4);
    EXPECT_TRUE(of(world.sequence).equal(at::arange(first, first + 4)));
    const double of_context = first + double(place.tensor), of_tensor = first + 2.0 * double(place.context);
    EXPECT_TRUE(of(world.context).equal(at::tensor({of_context, of_context + 2}).to(at::kFloat)));
    EXPECT_TRUE(of(world.tensor).equal(at::tensor({of_tensor, of_tensor + 1}).to(at::kFloat)));
    EXPECT_EQ(world.tensor.rank(), place.tensor);
    EXPECT_EQ(world.context.rank(), place.context);
  });
}

TEST_F(Groups, AMistakeOfTheFirstRankIsOneOfAll) {
  std::atomic<int> mistakes = 0;
  run_as_threads({3, 1, 1}, [&](const World& world) {
    bool ran = false;
    on_first(world.all, [&] { ran = true; });
    EXPECT_EQ(ran, world.all.rank() == 0);
    try {
      on_first(world.all, [] { fail("the folder is full"); });
    } catch (const Error& error) {
      mistakes += std::string(error.what()) == "the folder is full" ? 1 : 0;
    }
  });
  EXPECT_EQ(mistakes, 3);
}

TEST_F(Groups, ADifferenceBetweenRanksIsNamed) {
  run_as_threads({3, 1, 1}, [&](const World& world) {
    check_same(world.all, "one text", "the text");
    EXPECT_SENTENCE(check_same(world.all, world.all.rank() == 2 ? "another" : "one", "the config"),
                    "the config of rank 2 is not that of rank 0");
  });
}

TEST_F(Groups, ARankThatDoesNotComeIsNamed) {
  std::atomic<int> lost = 0;
  run_as_threads(
      {3, 1, 1},
      [&](const World& world) {
        if (world.all.rank() == 1) {
          std::this_thread::sleep_for(std::chrono::seconds(5));
          return;
        }
        try {
          world.all.sum(at::ones({4}), "adding up numbers");
        } catch (const RankLost& error) {
          EXPECT_THAT(error.what(), ::testing::HasSubstr("adding up numbers"));
          EXPECT_THAT(error.what(), ::testing::HasSubstr("rank 1 is gone or stuck"));
          ++lost;
        }
      },
      std::chrono::milliseconds(1500));
  EXPECT_EQ(lost, 2);
}

TEST_F(Groups, CountsWhatItMoves) {
  run_as_threads({2, 1, 1}, [](const World& world) {
    const auto before = world.all.traffic();
    world.all.sum(at::ones({10}), "test");
    world.all.exchange(at::ones({6, 4}), {2, 4},
                       world.all.rank() == 0 ? std::vector<int64_t>{2, 2} : std::vector<int64_t>{4, 4},
                       "test");
    EXPECT_EQ(world.all.traffic().sums, before.sums + 1);
    EXPECT_EQ(world.all.traffic().summed_bytes, before.summed_bytes + 40);
    EXPECT_EQ(world.all.traffic().exchanged_bytes,
              before.exchanged_bytes + (world.all.rank() == 0 ? 64 : 32));
  });
}

TEST(World, AMeshOfAnotherSizeIsRefused) {
  EXPECT_SENTENCE(join({.rank = 0, .world = 3}, {2, 2, 1}), "a mesh of 4 ranks but the job has 3");
}

}  // namespace
}  // namespace lact::parallel
