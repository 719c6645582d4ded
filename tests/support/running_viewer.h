// A viewer with its render loop on a thread.
#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "lact/tasks/nvs/serving/viewer.h"

namespace lact::testing {

class RunningViewer {
 public:
  explicit RunningViewer(tasks::nvs::FrameSource& source, const tasks::nvs::ViewerOptions& options = {})
      : viewer_(source, options), thread_([this] { viewer_.run([this] { return done_.load(); }); }) {}
  ~RunningViewer() {
    done_ = true;
    thread_.join();
  }

  std::string url() const { return viewer_.url(); }
  int port() const { return std::stoi(url().substr(url().rfind(':') + 1)); }

 private:
  std::atomic<bool> done_ = false;
  tasks::nvs::Viewer viewer_;
  std::thread thread_;
};

}  // namespace lact::testing
