#include "lact/train/recorder.h"

#include <filesystem>
#include <fstream>

#include "lact/base/error.h"
#include "lact/base/json_text.h"
#include "lact/base/log.h"
#include "lact/base/progress.h"
#include "lact/io/atomic_file.h"
#include "lact/train/tensorboard.h"

namespace lact::train {

namespace fs = std::filesystem;

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Removes the records after `step`, and half a line that a killed process left.
void cut(const std::string& file, int64_t step) {
  if (!fs::exists(file)) return;
  std::ifstream lines(file);
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::ordered_json json = try_parse_json(line).value_or(nullptr);
    const auto found = json.is_object() ? json.find("step") : json.end();
    const bool counted = json.is_object() && found != json.end() && found->is_number_integer();
    if (json.is_object() && (!counted || *found <= step)) kept += line + "\n";
  }
  io::write_file_atomically(file, [&](io::FileWriter& out) { out.write(kept); });
}

}  // namespace

Recorder::Recorder(std::string folder, std::string title, int64_t first_step, int64_t done, int64_t total)
    : file_((fs::path(folder) / "metrics.jsonl").string()) {
  cut(file_, first_step);
  const std::string events = (fs::path(folder) / "tensorboard").string();
  std::error_code error;
  fs::create_directories(events, error);
  LACT_CHECK(!error, "{}: cannot be created: {}", events, error.message());
  tensorboard_ = std::make_unique<TensorBoardWriter>(events, now());
  Progress::Options options;
  options.done_at_start = done;
  progress_ = std::make_unique<Progress>(std::move(title), total, options);
}

Recorder::~Recorder() = default;

void Recorder::show(int64_t done, const std::string& details) { progress_->update(done, details); }

void Recorder::record(int64_t step, const std::map<std::string, double>& values) {
  nlohmann::ordered_json line = {{"step", step}};
  for (const auto& [name, value] : values) line[name] = value;
  try {
    std::ofstream out(file_, std::ios::app);
    out << line.dump() << "\n" << std::flush;
    LACT_CHECK(out.good(), "{}: cannot be written", file_);
    for (const auto& [name, value] : values) tensorboard_->scalar(name, value, step, now());
    tensorboard_->flush();
  } catch (const Error& error) {
    if (!std::exchange(failed_, true)) message(fmt::format("the run goes on unrecorded: {}", error.what()));
  }
}

void Recorder::message(const std::string& text) { progress_->message(text); }
void Recorder::finish(const std::string& summary) { progress_->finish(summary); }

}  // namespace lact::train
