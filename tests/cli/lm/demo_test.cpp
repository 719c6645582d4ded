// The demo's report of results that were made by hand.
#include "lact/cli/lm/demo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/temporary_folder.h"

namespace lact::cli {
namespace {

using lact::testing::read_file;
using lact::testing::TemporaryFolder;
using lact::testing::write_file;
using ::testing::HasSubstr;
using ::testing::Not;

/// Asked 40 times at each of the distances 16 to 79; right as often near (below 64) and far as said.
tasks::lm::Recall recall(const std::string& name, int64_t near, int64_t far) {
  tasks::lm::Recall made;
  made.name = name;
  made.chance = 0.0625;
  made.asked.assign(80, 0);
  made.right.assign(80, 0);
  for (size_t distance = 16; distance < 80; ++distance) {
    made.asked[distance] = 40;
    made.right[distance] = distance < 64 ? near : far;
  }
  made.buckets = {{16, 32, 640, 16 * near}, {32, 64, 1280, 32 * near}, {64, 80, 640, 16 * far}};
  return made;
}

class DemoReport : public ::testing::Test {
 protected:
  DemoReport() {
    result_.window = result_.chunk = 32;
    result_.convolution = true;
    result_.parameters = {2000, 1000};
    for (const char* name : {"LaCT, Muon", "window only"}) {
      const std::string folder = folder_ / name;
      std::filesystem::create_directories(folder);
      write_file(folder + "/metrics.jsonl", "{\"step\": 1, \"loss\": 3}\n{\"step\": 2, \"loss\": 2.5}\n");
      DemoRun run{name, folder, {"lm", "train", "-o", folder}};
      run.steps = 2;
      run.seconds = 7;
      run.loss = 2.5;
      run.valid_loss = 2.25;
      result_.runs.push_back(run);
      const bool remembers = result_.runs.size() == 1;
      result_.recalls.push_back(recall(name, 40, remembers ? 30 : 2));
      tasks::lm::PositionLoss loss;
      loss.name = name;
      loss.end = {64, 128};
      loss.loss = {2, remembers ? 1.5 : 2.5};
      result_.losses.push_back(loss);
      result_.sample.written[name] = remembers ? " tovul" : " bremi";
    }
    result_.sample.prompt = "note tovul Mirado Mirado";
    result_.sample.answer = "tovul";
    result_.sample.distance = 2;
  }

  TemporaryFolder folder_;
  DemoResult result_;
};

TEST_F(DemoReport, TerminalShowsWhoIsRightBeyondTwoWindows) {
  const std::string text = demo_text(result_);
  EXPECT_THAT(text, HasSubstr("64 or more (2 windows)"));
  EXPECT_THAT(text, HasSubstr("LaCT, Muon 75.0%, window only 5.0%; chance is 6.2%"));
  EXPECT_THAT(text, HasSubstr("LaCT, Muon writes: tovul"));
}

TEST_F(DemoReport, PageAndFiguresSayHowItWasMade) {
  write_demo(result_, folder_ / "");
  const std::string page = read_file(folder_ / "report.html");
  EXPECT_THAT(page, HasSubstr("The paper&#39;s layer has no convolution"));
  EXPECT_THAT(page, HasSubstr("lact lm train -o"));
  const auto json = options::read_json_file(folder_ / "result.json");
  EXPECT_EQ(json["window"], 32);
  EXPECT_EQ(json["chunk"], 32);
  EXPECT_EQ(json["convolution"], true);
  EXPECT_EQ(json["far_from"], 64);
  ASSERT_EQ(json["models"].size(), 2u);
  EXPECT_EQ(json["models"][0]["recall_far"], 0.75);
  EXPECT_EQ(json["models"][1]["parameters"], 1000);
  EXPECT_EQ(json["models"][1]["valid_loss"], 2.25);

  result_.convolution = false;
  write_demo(result_, folder_ / "");
  EXPECT_THAT(read_file(folder_ / "report.html"), Not(HasSubstr("no convolution")));
}

}  // namespace
}  // namespace lact::cli
