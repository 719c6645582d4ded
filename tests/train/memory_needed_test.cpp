#include "lact/train/memory_needed.h"

#include <ATen/ATen.h>
#include <torch/nn/module.h>

#include "lact/base/memory_use.h"
#include "lact/base/out_of_memory.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::train {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// As many parameters as wanted, in the memory of one.
class LargeTask : public Task {
 public:
  LargeTask(int64_t learned, int64_t frozen) {
    const at::Tensor one = at::zeros({1});
    model_.register_parameter("learned", one.expand({learned}));
    if (frozen > 0) model_.register_parameter("frozen", one.expand({frozen}), /*requires_grad=*/false);
  }
  torch::nn::Module& model() override { return model_; }
  at::Tensor loss(int64_t) override { return at::zeros({}); }
  int64_t tokens_of_batch(int64_t) const override { return 1; }
  double flops_of_batch(int64_t) const override { return 1; }
  void export_model(const std::string&) override {}

 private:
  torch::nn::Module model_;
};

TEST(MemoryNeeded, IsWeightsGradientsAndMomentsOfWhatIsLearned) {
  TrainOptions options;
  EXPECT_EQ(bytes_to_train({1000, 1000}, options), 16 * 1000);
  EXPECT_EQ(bytes_to_train({1000, 300}, options), 4 * 1000 + 12 * 300);
  options.ema = 0.99;
  EXPECT_EQ(bytes_to_train({1000, 300}, options), 8 * 1000 + 12 * 300);
  EXPECT_EQ(bytes_to_train({1000, 300}, options, {1, 0.25}), 8 * 1000 + 4 * 300 + 2 * 300);
  EXPECT_EQ(bytes_to_train({1000, 300}, options, {0.25, 0.25}), (8 * 1000 + 12 * 300) / 4);
  LargeTask task(7, 5);
  EXPECT_EQ(count_parameters(task.model()).all, 12);
  EXPECT_EQ(count_parameters(task.model()).learned, 7);
}

TEST(MemoryNeeded, MoreThanTheMachineHasIsASentenceBeforeTheFirstStep) {
  const int64_t most = machine_memory_bytes() / 16;
  const lact::testing::TemporaryFolder folder;
  LargeTask task(most + most / 50, 0);
  EXPECT_THROW(train(task, {}, {.folder = folder / "run"}), OutOfMemory);
  EXPECT_SENTENCE(train(task, {}, {.folder = folder / "run"}),
                  "not enough memory for weights, gradients and moments of a model of ");
}

TEST(MemoryNeeded, CloseToWhatTheMachineHasIsAWarning) {
  const auto most = double(machine_memory_bytes()) / 16;
  const auto warning = [&](double share) { return memory_warning({share * most, share * most}, {}); };
  EXPECT_THAT(warning(0.7), IsEmpty());
  EXPECT_THAT(warning(0.8), HasSubstr("little is left for the activations of a batch"));
  EXPECT_NO_THROW(check_memory_to_train({0.98 * most, 0.98 * most}, {}));
  EXPECT_NO_THROW(check_memory_to_train({3 * most, 0}, {})) << "nothing is learned";
}

}  // namespace
}  // namespace lact::train
