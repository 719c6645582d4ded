#include <CLI/CLI.hpp>

#include "lact/base/log.h"
#include "lact/base/memory_use.h"
#include "lact/cli/nvs.h"
#include "lact/serve/viewer.h"

namespace lact::cli {

namespace {

struct NvsViewWords {
  NvsWords nvs;
  std::string scene;
  int64_t size = 0;
  serve::ViewerOptions viewer;
};

int run_nvs_view(const NvsViewWords& words) {
  keep_freed_memory();
  serve::NvsSource source = load_nvs_scene(words.scene, words.nvs, words.size);
  return serve::run_viewer(source, words.viewer);
}

}  // namespace

void add_nvs_view(CLI::App& task, int& exit_code) {
  const auto words = std::make_shared<NvsViewWords>();
  words->viewer.server.port = 8000;
  auto* verb = task.add_subcommand("view", "Fly through a scene file in the browser");
  verb->footer(
      "Example: lact nvs view scene.fw --size 256\n"
      "Drag to orbit, scroll to move. Frames are small while the camera moves and full when it rests.");
  verb->add_option("SCENE", words->scene, "Scene file")->required();
  add_nvs_options(*verb, words->nvs);
  verb->add_option("--size", words->size,
                   "The longer side of a frame at rest, whole patches; 0: as the model read the photos")
      ->check(CLI::Range(int64_t{0}, words->viewer.max_side))
      ->capture_default_str();
  verb->add_option("--host", words->viewer.server.host,
                   "Address to serve at; others than 127.0.0.1 are open to the network")
      ->capture_default_str();
  verb->add_option("--port", words->viewer.server.port, "0: any free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  verb->callback([words, &exit_code] { exit_code = run_nvs_view(*words); });
}

}  // namespace lact::cli
