// The web viewer: a page on which one flies through a scene that a FrameSource renders.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "lact/serve/http_server.h"
#include "lact/tasks/nvs/serving/frame_request.h"
#include "lact/tasks/nvs/serving/frame_source.h"
#include "lact/tasks/nvs/serving/latest_requests.h"

namespace lact::tasks::nvs {

struct ViewerOptions {
  serve::ServerOptions server;
  int64_t max_side = 2048;  ///< of a frame
  int jpeg_quality = 90;
};

/// Over the WebSocket /frames, text from the page is a frame request (frame_request.h). Back come
///   text:    {"type": "scene", "name", "details", "size_multiple", "full_side", "max_side", "cameras"}, at
///   the start and whenever the source has another scene
///            {"type": "error", "message"}
///   binary:  uint32 (little endian) n, n bytes of JSON {"id", "width", "height", "render_ms", "type":
///   "image/jpeg"},
///            the picture
class Viewer {
 public:
  /// The page can be opened from now on. `source` must outlive the viewer.
  Viewer(FrameSource& source, ViewerOptions options);

  /// Renders on the calling thread until `done`, which is asked between frames and ten times a second.
  void run(const std::function<bool()>& done);

  std::string url() const { return server_.url(); }

 private:
  void receive(serve::Peer peer, const std::string& message);
  std::string frame(const FrameRequest& request);
  void take_scene();
  std::string scene_json();
  serve::ServerHandlers handlers();

  FrameSource& source_;
  const ViewerOptions options_;
  FrameLimits limits_;
  std::mutex scene_mutex_;
  std::string scene_json_;
  LatestRequests requests_;
  serve::HttpServer server_;  // last: its thread uses everything above
};

/// The page: web/dist/viewer.html, as it is in the program.
std::string_view viewer_page();

/// Prints "viewer: http://127.0.0.1:PORT/" to stdout and serves until Ctrl-C. Returns the program's exit
/// code.
int run_viewer(FrameSource& source, const ViewerOptions& options);

}  // namespace lact::tasks::nvs
