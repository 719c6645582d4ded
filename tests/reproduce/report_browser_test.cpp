// The report's page in a real browser: tests/reproduce/browser/drive_report.mjs reads it as a person does.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "lact/io/png.h"
#include "lact/reproduce/report.h"
#include "support/browser.h"
#include "support/places.h"
#include "support/sample_report.h"
#include "support/temporary_folder.h"

namespace lact::reproduce {
namespace {

/// Three colourful squares beside each other.
at::Tensor squares() {
  const at::Tensor ramp = at::arange(160).mul(255).div(159);
  const at::Tensor row = ramp.view({1, 160}).expand({160, 160}),
                   column = ramp.view({160, 1}).expand({160, 160});
  const at::Tensor square = at::stack({row, column, 255 - row}, 2);
  return at::cat({square, square.flip(0), square.flip(1)}, 1).to(at::kByte).contiguous();
}

TEST(ReportBrowser, EveryChartHasPointsAndTheConsoleIsClean) {
  LACT_NEEDS_BROWSER();
  const testing::TemporaryFolder folder;
  io::write_png(folder / "views.png", squares());
  write_report(testing::sample_report(folder / "views.png"), folder / "out");
  const std::string screenshots = testing::screenshots_folder(folder / "screenshots");
  std::filesystem::create_directories(screenshots);
  const std::string command = testing::node_program() + " '" + testing::source_folder() +
                              "/tests/reproduce/browser/drive_report.mjs' " + testing::browser_program() +
                              " '" + folder / "out/report.html" + "' '" + screenshots + "' --every-line >'" +
                              folder / "err" + "' 2>&1";
  ASSERT_EQ(std::system(command.c_str()), 0) << testing::read_file(folder / "err");
  EXPECT_GT(std::filesystem::file_size(screenshots + "/light.png"), 50'000);
}

}  // namespace
}  // namespace lact::reproduce
