#include "lact/tasks/nvs/serving/viewer.h"

#include <ATen/ATen.h>

#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>

#include "lact/base/error.h"
#include "lact/base/interrupt.h"
#include "lact/base/log.h"
#include "lact/io/jpeg.h"
#include "lact/serve/same_site.h"

namespace lact::tasks::nvs {

namespace {

using Json = nlohmann::ordered_json;

constexpr unsigned char kViewerPage[] = {
#include "lact/tasks/nvs/serving/viewer_page.inc"
};

constexpr std::chrono::milliseconds kBetweenQuestions{100};
constexpr const char* kFramesPath = "/frames";

/// Names come from files: bytes that are not UTF-8 are replaced.
std::string json_text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json scene_message(const SceneDescription& scene, int64_t max_side) {
  LACT_CHECK(!scene.cameras.empty(), "[view] the scene has no cameras");
  LACT_CHECK(scene.size_multiple >= 1 && scene.size_multiple <= max_side,
             "[view] frames must be multiples of {} pixels, but at most {}", scene.size_multiple, max_side);
  LACT_CHECK(scene.full_side >= 1, "[view] the full size of a frame is {} pixels", scene.full_side);
  Json cameras = Json::array();
  for (const auto& camera : scene.cameras) cameras.push_back(camera_json(camera));
  return {{"type", "scene"},
          {"name", scene.name},
          {"details", scene.details},
          {"size_multiple", scene.size_multiple},
          {"full_side", std::min(scene.full_side, max_side)},
          {"max_side", max_side},
          {"cameras", cameras}};
}

std::string error_message(std::string_view sentence) {
  // LibTorch's errors go on with a backtrace.
  return json_text({{"type", "error"}, {"message", sentence.substr(0, sentence.find('\n'))}});
}

std::string little_endian(uint32_t value) {
  std::string bytes;
  for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(value >> shift & 0xff));
  return bytes;
}

}  // namespace

Viewer::Viewer(FrameSource& source, ViewerOptions options)
    : source_(source), options_(std::move(options)), server_(options_.server, handlers()) {
  take_scene();
  limits_ = {options_.max_side, source_.describe().size_multiple};
  server_.start();
}

void Viewer::take_scene() {
  std::string text = json_text(scene_message(source_.describe(), options_.max_side));
  const std::lock_guard lock(scene_mutex_);
  scene_json_ = std::move(text);
}

std::string Viewer::scene_json() {
  const std::lock_guard lock(scene_mutex_);
  return scene_json_;
}

serve::ServerHandlers Viewer::handlers() {
  serve::ServerHandlers handlers;
  handlers.request = serve::pages([](const std::string& path) -> serve::HttpResponse {
    if (path != "/") return {404, "text/plain; charset=utf-8", "There is nothing here; the viewer is at /\n"};
    return {200, "text/html; charset=utf-8", std::string(viewer_page())};
  });
  handlers.accepts_socket = [](const std::string& path) { return path == kFramesPath; };
  handlers.opened = [this](serve::Peer peer) {
    requests_.open(peer);
    server_.send_text(peer, scene_json());
  };
  handlers.closed = [this](serve::Peer peer) { requests_.close(peer); };
  handlers.received = [this](serve::Peer peer, const std::string& message) { receive(peer, message); };
  handlers.sent_all = [this](serve::Peer peer) { requests_.finish(peer); };
  return handlers;
}

void Viewer::receive(serve::Peer peer, const std::string& message) {
  try {
    requests_.put(peer, parse_frame_request(message, limits_));
  } catch (const std::exception& error) {
    server_.send_text(peer, error_message(error.what()));
  }
}

void Viewer::run(const std::function<bool()>& done) {
  const at::NoGradGuard no_grad;
  while (!done()) {
    if (source_.refresh()) {
      take_scene();
      for (const serve::Peer peer : requests_.pages()) server_.send_text(peer, scene_json());
    }
    const auto next = requests_.take(kBetweenQuestions);
    if (!next) continue;
    const auto& [peer, request] = *next;
    try {
      server_.send_binary(peer, frame(request));
    } catch (const std::bad_alloc&) {
      server_.send_text(peer, error_message("There is not enough memory for a frame of this size."));
    } catch (const std::exception& error) {
      server_.send_text(peer, error_message(error.what()));
    }
  }
}

std::string Viewer::frame(const FrameRequest& request) {
  const auto& camera = request.camera;
  const auto start = std::chrono::steady_clock::now();
  const at::Tensor image = source_.render(camera);
  const std::chrono::duration<double, std::milli> render_time = std::chrono::steady_clock::now() - start;
  LACT_CHECK(image.dim() == 3 && image.size(0) == camera.height && image.size(1) == camera.width,
             "[view] the frame has shape {}, expected [{}, {}, 3]", image.sizes().vec(), camera.height,
             camera.width);
  const std::string header = json_text({{"id", request.id},
                                        {"width", camera.width},
                                        {"height", camera.height},
                                        {"render_ms", render_time.count()},
                                        {"type", "image/jpeg"}});
  return little_endian(static_cast<uint32_t>(header.size())) + header +
         io::encode_jpeg(image, options_.jpeg_quality);
}

std::string_view viewer_page() { return {reinterpret_cast<const char*>(kViewerPage), sizeof(kViewerPage)}; }

int run_viewer(FrameSource& source, const ViewerOptions& options) {
  const Interrupt interrupt;
  Viewer viewer(source, options);
  std::cout << "viewer: " << viewer.url() << std::endl;
  if (!serve::is_loopback(options.server.host)) {
    log::warn("[viewer] everyone who can reach {} over the network can use the viewer", options.server.host);
  }
  log::info("open it in a browser; Ctrl-C stops");
  viewer.run([&] { return interrupt.requested(); });
  return 0;
}

}  // namespace lact::tasks::nvs
