// What a run leaves for people and programs to look at: a progress line, metrics.jsonl and TensorBoard
// events.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace lact {
class Progress;
}

namespace lact::train {

class TensorBoardWriter;

class Recorder {
 public:
  /// Records of later steps than `first_step`, written by a run that went on after the checkpoint, are
  /// removed. The progress line begins at `done` of `total`.
  Recorder(std::string folder, std::string title, int64_t first_step, int64_t done, int64_t total);
  ~Recorder();

  /// The progress line.
  void show(int64_t done, const std::string& details);

  /// One line of metrics.jsonl, {"step": step, ...}, and the same as TensorBoard scalars. A disk that is full
  /// is reported once and does not stop the run.
  void record(int64_t step, const std::map<std::string, double>& values);

  void message(const std::string& text);
  void finish(const std::string& summary);

 private:
  std::string file_;
  std::unique_ptr<Progress> progress_;
  std::unique_ptr<TensorBoardWriter> tensorboard_;
  bool failed_ = false;
};

}  // namespace lact::train
