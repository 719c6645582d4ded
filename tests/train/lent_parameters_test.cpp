#include "lact/train/lent_parameters.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <mutex>

#include "lact/nn/init.h"
#include "lact/nn/linear.h"
#include "lact/nn/recompute.h"
#include "lact/parallel/world.h"
#include "lact/train/remote_tensors.h"
#include "support/errors.h"

namespace lact::train {
namespace {

using parallel::World;

/// Two layers, of which one is not always used.
struct Block : torch::nn::Module {
  Block() {
    first = register_module("first", std::make_shared<nn::Linear>(4, 6, true));
    second = register_module("second", std::make_shared<nn::Linear>(6, 4, false));
    third = register_module("third", std::make_shared<nn::Linear>(4, 4, false));
  }
  at::Tensor forward(const at::Tensor& x) { return second->forward(first->forward(x).tanh()); }
  std::shared_ptr<nn::Linear> first, second, third;
};

std::shared_ptr<Block> seeded(const std::shared_ptr<nn::Lender>& lender) {
  static std::mutex one_at_a_time;  // threads share LibTorch's generator
  const std::lock_guard lock(one_at_a_time);
  const nn::LendingScope scope(lender);
  at::manual_seed(5);
  auto block = nn::given_to_lender(std::make_shared<Block>());
  nn::init_linears(*block, 0.5);
  return block;
}

at::Tensor input_of(int64_t rank) { return at::arange(8, at::kFloat).reshape({2, 4}) * 0.1 + double(rank); }

TEST(LentParameters, AreThereWhileTheirBlockRunsAndNowhereElse) {
  if (!parallel::can_join()) GTEST_SKIP() << "this build joins no ranks";
  const auto whole = seeded(nullptr);
  parallel::run_as_threads({2, 1, 1}, [&](const World& world) {
    const auto lent = std::make_shared<LentParameters>(world.all);
    const auto block = seeded(lent);
    const auto expected = whole->parameters(), found = block->parameters();
    for (size_t i = 0; i < found.size(); ++i) {
      const auto owner = lent->owner(found[i]);
      EXPECT_EQ(owner.has_value(), found[i].dim() == 2) << "vectors stay";
      EXPECT_EQ(nn::is_held(found[i]), !owner || *owner == world.all.rank());
      if (!nn::is_held(found[i])) continue;
      EXPECT_TRUE(found[i].equal(expected[i])) << "drawn as in one process";
    }
    lent->lend(*block, nn::Pass::forward);
    for (size_t i = 0; i < found.size(); ++i) EXPECT_TRUE(found[i].equal(expected[i]));
    lent->take_back(*block, nn::Pass::forward);
    for (const auto& parameter : found) {
      EXPECT_EQ(nn::is_held(parameter),
                lent->owner(parameter).value_or(world.all.rank()) == world.all.rank());
    }
    EXPECT_GT(lent->kept()[0], 0);
    EXPECT_GT(lent->kept()[1], 0);
  });
}

TEST(LentParameters, OwnersGetTheSumOfAllGradientsAndPasses) {
  if (!parallel::can_join()) GTEST_SKIP() << "this build joins no ranks";
  const auto whole = seeded(nullptr);
  for (int pass = 0; pass < 2; ++pass) {
    for (int64_t rank = 0; rank < 2; ++rank) whole->forward(input_of(rank + pass)).square().sum().backward();
  }
  parallel::run_as_threads({2, 1, 1}, [&](const World& world) {
    const auto lent = std::make_shared<LentParameters>(world.all);
    const auto block = seeded(lent);
    const auto run = [block](const at::Tensor& x) { return block->forward(x); };
    for (int pass = 0; pass < 2; ++pass) {
      nn::recompute(run, input_of(world.all.rank() + pass), {lent, block}).square().sum().backward();
    }
    const auto expected = whole->parameters(), found = block->parameters();
    for (size_t i = 0; i < found.size(); ++i) {
      const auto owner = lent->owner(found[i]);
      if (!owner) continue;
      if (*owner != world.all.rank() || !expected[i].grad().defined()) {
        EXPECT_FALSE(found[i].grad().defined()) << i;
      } else {
        EXPECT_TRUE(at::allclose(found[i].grad(), expected[i].grad(), 1e-5, 1e-5)) << i;
      }
    }
  });
}

TEST(LentParameters, ABlockThatFindsSomethingNotFiniteLeavesNobodyWaiting) {
  if (!parallel::can_join()) GTEST_SKIP() << "this build joins no ranks";
  parallel::run_as_threads({2, 1, 1}, [&](const World& world) {
    const auto lent = std::make_shared<LentParameters>(world.all);
    const auto block = seeded(lent);
    const auto run = [&](const at::Tensor& x) {
      if (world.all.rank() == 1) throw NonFinite("no number");
      return block->forward(x);
    };
    const at::Tensor y = nn::recompute(run, input_of(0), {lent, block});
    EXPECT_EQ(y.isfinite().all().item<bool>(), world.all.rank() == 0);
  });
}

TEST(RemoteTensors, ComeToTheRankThatWritesOneByOne) {
  if (!parallel::can_join()) GTEST_SKIP() << "this build joins no ranks";
  parallel::run_as_threads({3, 1, 1}, [&](const World& world) {
    RemoteTensors remote(world.all);
    for (int64_t holder = 0; holder < 3; ++holder) {
      const at::Tensor here =
          world.all.rank() == holder ? at::full({2, 3}, double(holder)) : at::zeros({2, 3});
      remote.add("of" + std::to_string(holder), here, holder);
    }
    int written = 0;
    remote.write_on_first([&](const auto& tensors, const auto& contents) {
      for (const auto& [name, shape] : tensors) {
        EXPECT_TRUE(contents(name, shape).equal(at::full({2, 3}, double(name.back() - '0'))));
        ++written;
      }
    });
    EXPECT_EQ(written, world.all.rank() == 0 ? 3 : 0);
  });
}

TEST(RemoteTensors, AFailedWriteIsTheWritersAlone) {
  if (!parallel::can_join()) GTEST_SKIP() << "this build joins no ranks";
  parallel::run_as_threads({2, 1, 1}, [&](const World& world) {
    RemoteTensors remote(world.all);
    remote.add("x", at::ones({2}), 1);
    const auto write = [&] {
      remote.write_on_first([](const auto&, const auto&) { fail("the disk is full"); });
    };
    if (world.all.rank() == 0) {
      EXPECT_SENTENCE(write(), "the disk is full");
    } else {
      EXPECT_NO_THROW(write());
    }
  });
}

}  // namespace
}  // namespace lact::train
