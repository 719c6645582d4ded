// The viewer in a real browser: tests/tasks/nvs/serving/browser/drive_viewer.mjs does what a person would.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>

#include "support/browser.h"
#include "support/painted_scene.h"
#include "support/places.h"
#include "support/running_viewer.h"
#include "support/temporary_folder.h"

namespace lact::tasks::nvs {
namespace {

TEST(ViewerBrowser, DragsScrollsAndClicksAreFollowedWithoutAComplaint) {
  LACT_NEEDS_BROWSER();
  testing::PaintedScene scene;
  // As slow as a model: moving frames must be smaller than this one to be quick enough.
  scene.before_render = [](const data::Camera& camera) {
    std::this_thread::sleep_for(std::chrono::microseconds(camera.width * camera.height));
  };
  std::optional<testing::RunningViewer> viewer(std::in_place, scene);
  const testing::TemporaryFolder folder;
  const std::string screenshots = testing::screenshots_folder(folder / "screenshots");
  std::filesystem::create_directories(screenshots);
  const std::string command = testing::node_program() + " '" + testing::source_folder() +
                              "/tests/tasks/nvs/serving/browser/drive_viewer.mjs' " +
                              testing::browser_program() + " " + viewer->url() + " '" + screenshots +
                              "' 2>'" + folder / "err" + "'";
  ViewerOptions again;
  again.server.port = viewer->port();
  FILE* driver = popen(command.c_str(), "r");
  ASSERT_NE(driver, nullptr);
  for (char line[100]; fgets(line, sizeof(line), driver) != nullptr;) {
    if (line == std::string("stop\n")) viewer.reset();
    if (line == std::string("start\n")) viewer.emplace(scene, again);
  }
  ASSERT_EQ(pclose(driver), 0) << testing::read_file(folder / "err");
  EXPECT_GT(std::filesystem::file_size(screenshots + "/cameras.png"), 10'000);
}

}  // namespace
}  // namespace lact::tasks::nvs
