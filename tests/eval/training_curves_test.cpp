#include "lact/eval/training_curves.h"

#include <gmock/gmock.h>

#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::eval {
namespace {

using ::testing::ElementsAre;
using testing::TemporaryFolder;
using testing::write_file;

TEST(TrainingCurves, AreReadFieldByField) {
  const TemporaryFolder run;
  write_file(run / "metrics.jsonl",
             "{\"step\":10,\"loss\":2.5,\"name\":\"x\"}\n{\"step\":20,\"loss\":1.5}\n{\"step\":20,\"valid_"
             "loss\":1.75}\n");
  const Curves curves = read_curves(run / "");
  ASSERT_EQ(curves.size(), 2U);
  EXPECT_THAT(curves.at("loss").step, ElementsAre(10, 20));
  EXPECT_THAT(curves.at("loss").value, ElementsAre(2.5, 1.5));
  EXPECT_THAT(curves.at("valid_loss").value, ElementsAre(1.75));
}

TEST(TrainingCurves, ALastLineThatIsCutOffIsPassedOver) {
  const TemporaryFolder run;
  write_file(run / "metrics.jsonl", "{\"step\":10,\"loss\":2.5}\n{\"step\":20,\"lo");
  EXPECT_THAT(read_curves(run / "").at("loss").step, ElementsAre(10));
}

TEST(TrainingCurves, MistakesNameTheLine) {
  const TemporaryFolder run;
  EXPECT_SENTENCE(read_curves(run / ""), "metrics.jsonl: does not exist");
  write_file(run / "metrics.jsonl", "{\"step\":10,\"loss\":2.5}\n{oops}\n{\"step\":20}\n");
  EXPECT_SENTENCE(read_curves(run / ""), "line 2: is not JSON");
  write_file(run / "metrics.jsonl", "{\"loss\":2.5}\n");
  EXPECT_SENTENCE(read_curves(run / ""), "line 1: expected an object with a number \"step\"");
  write_file(run / "metrics.jsonl", "");
  EXPECT_SENTENCE(read_curves(run / ""), "holds no figures yet");
}

TEST(TrainingCurves, SmoothingAveragesWhatCameBefore) {
  const Curve curve = {{1, 2, 3, 4}, {4, 0, 2, 6}};
  EXPECT_THAT(smoothed(curve, 2).value, ElementsAre(4, 2, 1, 4));
  EXPECT_THAT(smoothed(curve, 1).value, ElementsAre(4, 0, 2, 6));
  EXPECT_THAT(smoothed(curve, 9).value, ElementsAre(4, 2, 2, 3));
}

}  // namespace
}  // namespace lact::eval
