#include "lact/train/trainer.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <filesystem>
#include <optional>

#include "lact/base/error.h"
#include "lact/base/interrupt.h"
#include "lact/base/log.h"
#include "lact/base/memory_use.h"
#include "lact/base/options.h"
#include "lact/base/out_of_memory.h"
#include "lact/base/progress.h"
#include "lact/base/threads.h"
#include "lact/train/checkpoint.h"
#include "lact/train/ema.h"
#include "lact/train/peak.h"
#include "lact/train/rate_schedule.h"
#include "lact/train/recorder.h"

namespace lact::train {

namespace fs = std::filesystem;

namespace {

constexpr size_t kRememberedNorms = 64, kNormsForMedian = 16;
constexpr int64_t kMostSkippedInARow = 50;
const char* const kKind = "lact training checkpoint";

double median(std::deque<double> values) {
  const auto middle = values.begin() + int64_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class Training {
 public:
  Training(Task& task, const TrainOptions& options, const RunOptions& run)
      : task_(task),
        options_(options),
        run_(run),
        checkpoints_((fs::path(run.folder) / "checkpoints").string(), options.keep),
        schedule_{options.rate, options.rate_floor, options.warmup, options.steps},
        optimizer_(task.model(), options.adamw,
                   [&task](const std::string& parameter) { return task.rate_factor(parameter); }) {
    if (options.ema > 0) ema_.emplace(task.model(), options.ema);
  }

  TrainResult run() {
    if (run_.resume) load();
    for (int64_t batch = 0; batch < step_ * options_.accumulate; ++batch) {
      tokens_before_ += task_.tokens_of_batch(batch);
    }
    const int64_t first = step_,
                  last = run_.stop_after > 0 ? std::min(run_.stop_after, options_.steps) : options_.steps;
    Recorder recorder(run_.folder, run_.title, step_, options_.steps);
    recorder_ = &recorder;
    if (first > 0) recorder.message(fmt::format("continuing after step {}", first));
    const Interrupt interrupt;
    peak_ = measured_peak();
    start_ = std::chrono::steady_clock::now();
    while (step_ < last && !interrupt.requested()) {
      making(fmt::format("training step {}", step_ + 1), [&] { take_step(); });
      report();
      const bool validates = options_.validate_every > 0;
      if (validates && (step_ % options_.validate_every == 0 || step_ == options_.steps)) validate();
      if (options_.save_every > 0 && step_ % options_.save_every == 0 && step_ < last) try_save();
    }
    if (step_ > first || first == 0) save();
    TrainResult result = {step_, skipped_, step_ == options_.steps, loss_, seconds(), validation_};
    recorder.finish(summary(result, first));
    return result;
  }

 private:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  /// Adds up the gradients of the step's batches. False if the loss is not finite.
  bool compute_gradients() {
    optimizer_.zero_gradients();
    loss_ = 0;
    try {
      for (int64_t i = 0; i < options_.accumulate; ++i) {
        const int64_t batch = step_ * options_.accumulate + i;
        tokens_ += task_.tokens_of_batch(batch);
        flops_ += task_.flops_of_batch(batch);
        const at::Tensor loss = task_.loss(batch) / double(options_.accumulate);
        loss_ += loss.item<double>();
        if (!std::isfinite(loss_)) return false;
        loss.backward();
      }
    } catch (const NonFinite&) {
      loss_ = std::nan("");
      return false;
    }
    return true;
  }

  void take_step() {
    const bool finite = compute_gradients();
    norm_ = finite ? optimizer_.gradient_norm() : std::nan("");
    rate_ = schedule_.at(step_);
    const bool explodes = options_.skip_above > 0 && norms_.size() >= kNormsForMedian &&
                          norm_ > options_.skip_above * median(norms_);
    ++step_;
    if (!std::isfinite(norm_) || explodes) {
      skip();
      return;
    }
    skipped_in_a_row_ = 0;
    norms_.push_back(norm_);
    if (norms_.size() > kRememberedNorms) norms_.pop_front();
    if (options_.clip > 0 && norm_ > options_.clip) optimizer_.scale_gradients(options_.clip / norm_);
    optimizer_.step(rate_);
    if (ema_) ema_->update();
  }

  void skip() {
    ++skipped_;
    recorder_->message(
        fmt::format("step {} skipped: loss {:.4g}, gradient norm {:.4g}", step_, loss_, norm_));
    // An explosion that stays is a new level of the norm, which the median has to learn.
    if (std::isfinite(norm_)) norms_.push_back(norm_);
    if (norms_.size() > kRememberedNorms) norms_.pop_front();
    LACT_CHECK(++skipped_in_a_row_ < kMostSkippedInARow,
               "[train] {} steps in a row had no usable gradient; the last checkpoint is intact, lower the "
               "learning rate",
               skipped_in_a_row_);
  }

  void report() {
    const double passed = std::max(1e-9, seconds());
    const double speed = double(tokens_) / passed, share = flops_ / passed / peak_;
    std::string details =
        fmt::format("{}, {} tok/s, {:.0f}% of f32 peak, {}", task_.loss_text(loss_), format_count(speed),
                    100 * share, format_bytes(double(resident_bytes())));
    if (skipped_ > 0) details += fmt::format(", {} skipped", skipped_);
    recorder_->show(step_, details);
    if (step_ % std::max<int64_t>(1, options_.log_every) != 0 && step_ != options_.steps) return;
    std::map<std::string, double> values = {{"rate", rate_},
                                            {"tokens", double(tokens_before_ + tokens_)},
                                            {"tokens_per_second", speed},
                                            {"share_of_peak", share},
                                            {"memory_mb", double(resident_bytes()) / 1e6},
                                            {"skipped", double(skipped_)}};
    if (std::isfinite(loss_)) values["loss"] = loss_;
    if (std::isfinite(norm_)) values["gradient_norm"] = norm_;
    recorder_->record(step_, values);
  }

  void validate() {
    const auto with_average = averaged();
    validation_ = task_.validate();
    if (validation_.empty()) return;
    std::map<std::string, double> values;
    std::string text = fmt::format("step {}:", step_);
    for (const auto& [name, value] : validation_) {
      values["valid_" + name] = value;
      text += fmt::format(" valid {} {:.4f}", name, value);
    }
    recorder_->record(step_, values);
    recorder_->message(text);
  }

  /// While it lives, the model has the averaged weights, if there are any.
  std::shared_ptr<void> averaged() {
    if (!ema_) return nullptr;
    ema_->swap();
    return {nullptr, [this](void*) { ema_->swap(); }};
  }

  void save() {
    io::TensorFile file;
    for (const auto& item : task_.model().named_parameters())
      file.tensors["model." + item.key()] = item.value().detach();
    optimizer_.save(file.tensors);
    if (ema_) ema_->save(file.tensors);
    file.tensors["random"] = at::globalContext().defaultGenerator(at::kCPU).get_state();
    file.tensors["gradient_norms"] =
        at::tensor(std::vector<double>(norms_.begin(), norms_.end()), at::kDouble);
    file.metadata = {{"kind", kKind},
                     {"format", "1"},
                     {"step", std::to_string(step_)},
                     {"skipped", std::to_string(skipped_)},
                     {"skipped_in_a_row", std::to_string(skipped_in_a_row_)},
                     {"threads", std::to_string(threads_in_use())},
                     {"options", options::write(options_).dump()}};
    checkpoints_.save(step_, file);
    const auto with_average = averaged();
    task_.export_model(run_.folder);
  }

  /// A disk that is full now may not be later: the run goes on, and the last complete checkpoint stays.
  void try_save() {
    try {
      save();
    } catch (const Error& error) {
      recorder_->message(fmt::format("no checkpoint at step {}: {}", step_, error.what()));
    }
  }

  int64_t number(const CheckpointFolder::Found& found, const std::string& key) const {
    const auto value = found.file.metadata.find(key);
    LACT_CHECK(value != found.file.metadata.end(), "{}: has no {}", found.path, key);
    try {
      return std::stoll(value->second);
    } catch (const std::exception&) {
      fail("{}: {} is \"{}\", expected a number", found.path, key, value->second);
    }
  }

  void load() {
    const auto found = checkpoints_.newest();
    if (!found) {
      log::warn("{}: holds no checkpoint yet, starting at step 0", run_.folder);
      return;
    }
    const auto& [step, path, file] = *found;
    const auto kind = file.metadata.find("kind");
    LACT_CHECK(kind != file.metadata.end() && kind->second == kKind, "{}: is not a {}", path, kKind);
    {
      at::NoGradGuard no_grad;
      for (auto& item : task_.model().named_parameters())
        restore(item.value(), file.tensors, "model." + item.key(), path);
    }
    optimizer_.load(file.tensors, path);
    if (ema_) ema_->load(file.tensors, path);
    auto generator = at::globalContext().defaultGenerator(at::kCPU);
    at::Tensor random = generator.get_state();
    restore(random, file.tensors, "random", path);
    generator.set_state(random);
    const auto norms = file.tensors.find("gradient_norms");
    LACT_CHECK(norms != file.tensors.end() && norms->second.scalar_type() == at::kDouble &&
                   norms->second.dim() == 1 && norms->second.numel() <= int64_t(kRememberedNorms),
               "{}: gradient_norms is missing or not a list of at most {} numbers", path, kRememberedNorms);
    const auto* values = norms->second.data_ptr<double>();
    norms_.assign(values, values + norms->second.numel());
    step_ = number(*found, "step");
    skipped_ = number(*found, "skipped");
    skipped_in_a_row_ = number(*found, "skipped_in_a_row");
    LACT_CHECK(step_ == step && step_ <= options_.steps, "{}: is of step {}, expected {} of at most {}", path,
               step_, step, options_.steps);
    if (const int64_t threads = number(*found, "threads"); threads != threads_in_use()) {
      log::warn("the run used {} threads before and {} now: sums may round differently", threads,
                threads_in_use());
    }
  }

  std::string summary(const TrainResult& result, int64_t first) const {
    std::string text = fmt::format("{} steps in {}, {}", result.step - first, format_duration(result.seconds),
                                   task_.loss_text(result.loss));
    if (result.skipped > 0) text += fmt::format(", {} skipped", result.skipped);
    return text;
  }

  Task& task_;
  const TrainOptions& options_;
  const RunOptions& run_;
  CheckpointFolder checkpoints_;
  RateSchedule schedule_;
  AdamW optimizer_;
  std::optional<Ema> ema_;
  Recorder* recorder_ = nullptr;
  std::chrono::steady_clock::time_point start_;
  double peak_ = 1;

  int64_t step_ = 0, skipped_ = 0, skipped_in_a_row_ = 0;
  int64_t tokens_before_ = 0, tokens_ = 0;  ///< of the run before this call, and in it
  double flops_ = 0;                        ///< in this call
  double loss_ = 0, norm_ = 0, rate_ = 0;
  std::deque<double> norms_;
  std::map<std::string, double> validation_;
};

}  // namespace

void TrainOptions::check() const {
  const auto at_least = [](const char* name, double value, double least) {
    LACT_CHECK(value >= least, "[train] {} is {}, expected at least {}", name, value, least);
  };
  at_least("steps", double(steps), 1);
  at_least("accumulate", double(accumulate), 1);
  LACT_CHECK(rate > 0 && std::isfinite(rate), "[train] rate is {}, expected a positive number", rate);
  LACT_CHECK(rate_floor >= 0 && rate_floor <= 1, "[train] rate_floor is {}, expected 0 to 1", rate_floor);
  at_least("warmup", double(warmup), 0);
  LACT_CHECK(adamw.beta1 >= 0 && adamw.beta1 < 1 && adamw.beta2 >= 0 && adamw.beta2 < 1,
             "[train] beta1 and beta2 are {} and {}, expected 0 to below 1", adamw.beta1, adamw.beta2);
  at_least("weight_decay", adamw.weight_decay, 0);
  at_least("clip", clip, 0);
  at_least("skip_above", skip_above, 0);
  LACT_CHECK(ema >= 0 && ema < 1, "[train] ema is {}, expected 0 to below 1", ema);
  at_least("validate_every", double(validate_every), 0);
  at_least("save_every", double(save_every), 0);
  at_least("keep", double(keep), 1);
  at_least("log_every", double(log_every), 1);
}

TrainResult train(Task& task, const TrainOptions& options, const RunOptions& run) {
  options.check();
  std::error_code error;
  fs::create_directories(run.folder, error);
  LACT_CHECK(!error, "{}: cannot be created: {}", run.folder, error.message());
  return Training(task, options, run).run();
}

}  // namespace lact::train
