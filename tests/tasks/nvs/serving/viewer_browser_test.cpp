// The viewer in a real browser: tests/tasks/nvs/serving/browser/drive_viewer.mjs does what a person would.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>

#include "support/painted_scene.h"
#include "support/places.h"
#include "support/running_viewer.h"
#include "support/temporary_folder.h"

namespace lact::tasks::nvs {
namespace {

/// The first of the names that is a program here, or "".
std::string program_among(std::initializer_list<const char*> names) {
  for (const std::string name : names) {
    if (std::system(("command -v " + name + " >/dev/null 2>&1").c_str()) == 0) return name;
  }
  return "";
}

TEST(ViewerBrowser, DragsScrollsAndClicksAreFollowedWithoutAComplaint) {
  const std::string node = program_among({"node", "nodejs"});
  const std::string browser = program_among({"chromium", "chromium-browser", "google-chrome"});
  if (node.empty()) GTEST_SKIP() << "Node (Debian package nodejs) is not installed";
  if (browser.empty()) GTEST_SKIP() << "Chromium (Debian package chromium) is not installed";

  testing::PaintedScene scene;
  // As slow as a model: moving frames must be smaller than this one to be quick enough.
  scene.before_render = [](const data::Camera& camera) {
    std::this_thread::sleep_for(std::chrono::microseconds(camera.width * camera.height));
  };
  std::optional<testing::RunningViewer> viewer(std::in_place, scene);
  const testing::TemporaryFolder folder;
  // Screenshots can be kept to be looked at.
  const char* chosen = std::getenv("LACT_SCREENSHOTS");
  const std::string screenshots = chosen != nullptr ? chosen : folder / "screenshots";
  std::filesystem::create_directories(screenshots);
  const std::string command = node + " '" + testing::source_folder() +
                              "/tests/tasks/nvs/serving/browser/drive_viewer.mjs' " + browser + " " +
                              viewer->url() + " '" + screenshots + "' 2>'" + folder / "err" + "'";
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
