// A tiny language model that is served.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "lact/models/lm/folder.h"
#include "lact/tasks/lm/serving/lm_server.h"
#include "support/api_client.h"
#include "support/temporary_folder.h"
#include "support/tiny_lm.h"

namespace lact::testing {

/// A folder with a model of bytes that writes in milliseconds.
class TinyLmFolder {
 public:
  explicit TinyLmFolder(int64_t chunk = 16) {
    models::save_lm(folder_ / "tiny", *make_lm(tiny_lm(chunk, chunk)));
  }
  std::string path() const { return folder_ / "tiny"; }
  std::string operator/(const std::string& name) const { return folder_ / name; }

 private:
  TemporaryFolder folder_;
};

class ServedLm {
 public:
  explicit ServedLm(tasks::lm::ServingOptions options = {}, const std::string& folder = "") {
    options.port = 0;
    if (folder.empty()) own_.emplace();
    lm_ = tasks::lm::load(folder.empty() ? own_->path() : folder, {.precision = ops::Precision::f32});
    server_ = std::make_unique<tasks::lm::LmServer>(lm_, std::nullopt, options);
  }

  int port() const { return server_->port(); }
  ApiClient client(const std::string& key = "") const { return ApiClient(port(), key); }
  const tasks::lm::Loaded& lm() const { return lm_; }
  tasks::lm::LmServer& server() { return *server_; }
  void stop() { server_.reset(); }

 private:
  std::optional<TinyLmFolder> own_;
  tasks::lm::Loaded lm_;
  std::unique_ptr<tasks::lm::LmServer> server_;
};

}  // namespace lact::testing
