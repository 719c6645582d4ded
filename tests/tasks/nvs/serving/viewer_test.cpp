#include "lact/tasks/nvs/serving/viewer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <future>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "support/errors.h"
#include "support/painted_scene.h"
#include "support/running_viewer.h"
#include "support/web_client.h"

namespace lact::tasks::nvs {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using testing::PaintedScene;
using testing::RunningViewer;
using ::testing::StartsWith;
using testing::WebSocketClient;

/// The source stops in its first render until it is let go.
struct Gate {
  std::promise<void> entered, opened;

  void hold(PaintedScene& scene) {
    scene.before_render = [this, first = true](const data::Camera&) mutable {
      if (!std::exchange(first, false)) return;
      entered.set_value();
      opened.get_future().wait();
    };
  }
};

std::string request(int64_t id, int64_t width = 64, int64_t height = 48) {
  auto message = camera_json(testing::camera_towards_origin({2, 1, 1}, width, height));
  message["id"] = id;
  return message.dump();
}

struct Frame {
  json header;
  std::string picture;
};

Frame receive_frame(WebSocketClient& client) {
  const std::string bytes = client.receive();
  EXPECT_TRUE(client.binary()) << bytes.substr(0, 200);
  uint32_t size = 0;
  for (int i = 0; i < 4; ++i) size |= uint32_t(static_cast<unsigned char>(bytes.at(i))) << 8 * i;
  return {json::parse(bytes.substr(4, size)), bytes.substr(4 + size)};
}

std::string receive_error(WebSocketClient& client) {
  const json message = json::parse(client.receive());
  EXPECT_EQ(message["type"], "error");
  return message["message"];
}

/// A client that has read the description of the scene.
struct Page : WebSocketClient {
  json scene;
  explicit Page(const RunningViewer& viewer)
      : WebSocketClient(viewer.port()), scene(json::parse(receive())) {}
};

/// Has another name once it is told to.
class ChangingScene : public PaintedScene {
 public:
  SceneDescription describe() const override {
    SceneDescription scene = PaintedScene::describe();
    if (changed_) scene.name = "another";
    return scene;
  }
  bool refresh() override { return change.load() && !std::exchange(changed_, true); }
  std::atomic<bool> change = false;

 private:
  bool changed_ = false;
};

TEST(Viewer, PagesAreToldOfAnotherScene) {
  ChangingScene scene;
  const RunningViewer viewer(scene);
  Page first(viewer), second(viewer);
  EXPECT_EQ(first.scene["name"], "painted cube");
  scene.change = true;
  for (Page* page : {&first, &second}) EXPECT_EQ(json::parse(page->receive())["name"], "another");
  EXPECT_EQ(Page(viewer).scene["name"], "another");
}

TEST(Viewer, ServesItsPage) {
  PaintedScene scene;
  const RunningViewer viewer(scene);
  const std::string answer = testing::http_get(viewer.port(), "/");
  EXPECT_THAT(answer, HasSubstr("Content-Type: text/html; charset=utf-8"));
  EXPECT_TRUE(answer.ends_with(viewer_page()));
  EXPECT_THAT(viewer_page(), StartsWith("<!doctype html>"));
  EXPECT_THAT(testing::http_get(viewer.port(), "/favicon.ico"), StartsWith("HTTP/1.1 404"));
}

TEST(Viewer, DescribesTheSceneFirst) {
  PaintedScene scene;
  ViewerOptions options;
  options.max_side = 256;
  const RunningViewer viewer(scene, options);
  const Page page(viewer);
  EXPECT_EQ(page.scene["type"], "scene");
  EXPECT_EQ(page.scene["name"], "painted cube");
  EXPECT_EQ(page.scene["cameras"].size(), 12);
  EXPECT_EQ(page.scene["cameras"][3]["camera_to_world"], json(scene.describe().cameras[3].camera_to_world));
  EXPECT_EQ(page.scene["max_side"], 256);
  EXPECT_EQ(page.scene["full_side"], 256);
}

TEST(Viewer, AFrameComesBackWithItsNumberSizeAndTime) {
  PaintedScene scene;
  const RunningViewer viewer(scene);
  Page page(viewer);
  page.send(request(42, 60, 50));
  const Frame frame = receive_frame(page);
  EXPECT_EQ(frame.header["id"], 42);
  EXPECT_EQ(frame.header["width"], 64);
  EXPECT_EQ(frame.header["height"], 48);
  EXPECT_EQ(frame.header["type"], "image/jpeg");
  EXPECT_GT(frame.header["render_ms"], 0);
  EXPECT_THAT(frame.picture, StartsWith("\xff\xd8\xff"));
  EXPECT_THAT(frame.picture, ::testing::EndsWith("\xff\xd9"));
}

TEST(Viewer, TheLatestRequestWins) {
  PaintedScene scene;
  Gate gate;
  gate.hold(scene);
  const RunningViewer viewer(scene);
  Page page(viewer);
  page.send(request(1));
  gate.entered.get_future().wait();
  for (int id = 2; id <= 20; ++id) page.send(request(id));
  page.send("a mark: its answer shows that everything before it was read");
  EXPECT_THAT(receive_error(page), HasSubstr("not a JSON object"));
  gate.opened.set_value();
  EXPECT_EQ(receive_frame(page).header["id"], 1);
  EXPECT_EQ(receive_frame(page).header["id"], 20);
  page.send(request(21));
  EXPECT_EQ(receive_frame(page).header["id"], 21);
}

TEST(Viewer, BadMessagesAreAnsweredWithASentence) {
  PaintedScene scene;
  const RunningViewer viewer(scene);
  Page page(viewer);
  page.send("hello");
  EXPECT_EQ(receive_error(page), "[view] the message is not a JSON object");
  page.send("{\"id\": NaN}");
  EXPECT_EQ(receive_error(page), "[view] the message is not a JSON object");
  page.send(request(1, 100000));
  EXPECT_EQ(receive_error(page), "[view] width is not a whole number from 1 to 2048");
  json nowhere = json::parse(request(1));
  nowhere["camera_to_world"][0][3] = nullptr;
  page.send(nowhere.dump());
  EXPECT_THAT(receive_error(page), HasSubstr("camera_to_world[0][3] is null"));
  page.send("\xff\xfe");  // no UTF-8: the connection ends, the viewer goes on
  EXPECT_ANY_THROW(page.receive());
  Page another(viewer);
  another.send(request(2));
  EXPECT_EQ(receive_frame(another).header["id"], 2);
}

TEST(Viewer, ARenderThatFailsIsAMessageAndTheNextOneWorks) {
  PaintedScene scene;
  bool first = true;
  scene.before_render = [&](const data::Camera&) {
    if (std::exchange(first, false)) throw std::runtime_error("the lens is dirty\nbacktrace");
  };
  const RunningViewer viewer(scene);
  Page page(viewer);
  page.send(request(1));
  EXPECT_EQ(receive_error(page), "the lens is dirty");
  page.send(request(2));
  EXPECT_EQ(receive_frame(page).header["id"], 2);
}

TEST(Viewer, AFrameOfAnotherSizeIsAnError) {
  struct Wrong : PaintedScene {
    at::Tensor render(const data::Camera&) override { return at::zeros({8, 8, 3}, at::kByte); }
  } scene;
  const RunningViewer viewer(scene);
  Page page(viewer);
  page.send(request(1));
  EXPECT_EQ(receive_error(page), "[view] the frame has shape [8, 8, 3], expected [48, 64, 3]");
}

TEST(Viewer, SeveralPagesAreServed) {
  PaintedScene scene;
  const RunningViewer viewer(scene);
  Page one(viewer), two(viewer);
  one.send(request(1));
  two.send(request(2, 32, 24));
  EXPECT_EQ(receive_frame(two).header["width"], 32);
  EXPECT_EQ(receive_frame(one).header["width"], 64);
}

TEST(Viewer, StopsWhileItRenders) {
  PaintedScene scene;
  Gate gate;
  gate.hold(scene);
  std::optional<RunningViewer> viewer(std::in_place, scene);
  Page page(*viewer);
  page.send(request(1));
  gate.entered.get_future().wait();
  page.send(request(2));
  auto stopped = std::async(std::launch::async, [&] { viewer.reset(); });
  gate.opened.set_value();
  stopped.get();
  EXPECT_ANY_THROW({
    for (int i = 0; i < 3; ++i) page.receive();
  });
}

TEST(Viewer, APageThatLeavesWhileItsFrameIsRenderedDoesNoHarm) {
  PaintedScene scene;
  Gate gate;
  gate.hold(scene);
  const RunningViewer viewer(scene);
  {
    Page page(viewer);
    page.send(request(1));
    gate.entered.get_future().wait();
  }
  gate.opened.set_value();
  Page page(viewer);
  page.send(request(2));
  EXPECT_EQ(receive_frame(page).header["id"], 2);
}

TEST(Viewer, PrintsItsAddressAndEndsAfterCtrlC) {
  struct Interrupted : PaintedScene {
    SceneDescription describe() const override {
      std::raise(SIGINT);
      return PaintedScene::describe();
    }
  } scene;
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(run_viewer(scene, {}), 0);
  EXPECT_THAT(::testing::internal::GetCapturedStdout(),
              ::testing::MatchesRegex("viewer: http://127.0.0.1:[0-9]+/\n"));
}

TEST(Viewer, ASceneWithoutCamerasIsRefused) {
  struct Empty : PaintedScene {
    SceneDescription describe() const override { return {}; }
  } scene;
  EXPECT_SENTENCE(Viewer(scene, {}), "[view] the scene has no cameras");
}

}  // namespace
}  // namespace lact::tasks::nvs
