#include "lact/train/trainer.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <optional>

#include "lact/base/error.h"
#include "lact/base/interrupt.h"
#include "lact/base/log.h"
#include "lact/base/memory_use.h"
#include "lact/base/options.h"
#include "lact/base/out_of_memory.h"
#include "lact/base/progress.h"
#include "lact/base/threads.h"
#include "lact/train/ema.h"
#include "lact/train/gradient_sum.h"
#include "lact/train/memory_needed.h"
#include "lact/train/peak.h"
#include "lact/train/ranges.h"
#include "lact/train/recorder.h"
#include "lact/train/remote_tensors.h"
#include "lact/train/time_budget.h"
#include "lact/train/whole_weights.h"

namespace lact::train {

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
        checkpoints_(checkpoints_of(run.folder), options.keep),
        schedule_{options.rate, options.rate_floor, options.warmup, options.steps, options.rate_decay},
        optimizer_(
            task.model(), {options.optimizer, options.adamw, options.muon},
            [&task](const std::string& parameter) { return task.rate_factor(parameter); },
            run.shard != parallel::Shard::none ? run.world.all : parallel::Group(), run.lent.get()),
        gradients_(task.model(), run.world.all, run.lent.get()),
        budget_(60 * options.minutes, run.clock) {
    const int64_t copies = run.world.mesh.data;
    LACT_CHECK(options.accumulate % copies == 0,
               "[train] a step adds up {} batches (accumulate), which the {} copies of the model on the data "
               "axis cannot share out evenly",
               options.accumulate, copies);
    task.set_world(run.world);
    if (options.ema > 0) ema_.emplace(task.model(), options.ema);
  }

  TrainResult run(std::optional<Checkpoint> checkpoint) {
    if (checkpoint) {
      load(*checkpoint);
      checkpoint.reset();  // as large as the model and its moments
    } else if (run_.initial_weights) {
      save_checkpoint();
    }
    for (int64_t batch = 0; batch < step_ * options_.accumulate; ++batch) {
      tokens_before_ += task_.tokens_of_batch(batch);
    }
    const int64_t first = step_,
                  last = run_.stop_after > 0 ? std::min(run_.stop_after, options_.steps) : options_.steps;
    if (is_first()) {
      const auto [done, total] = progress();
      recorder_.emplace(run_.folder, run_.title, step_, done, total);
    }
    if (first > 0) message(fmt::format("continuing after step {}", first));
    std::optional<Interrupt> interrupt;
    if (!run_.stop) interrupt.emplace();
    const auto stops = [&] { return any_rank(interrupt ? interrupt->requested() : run_.stop()); };
    peak_ = measured_peak();
    start_ = std::chrono::steady_clock::now();
    budget_.start();
    look_at_clock();
    while (step_ < last && share_ < 1 && !stops()) {
      making(fmt::format("training step {}", step_ + 1), [&] { take_step(); });
      const double before = share_;
      look_at_clock();
      report();
      const auto due = [&](int64_t every) {
        return every > 0 &&
               (budget_.limited() ? TimeBudget::passes_check(before, share_) : step_ % every == 0);
      };
      if (due(options_.validate_every) || (options_.validate_every > 0 && ended())) validate();
      if (due(options_.save_every) && step_ < last && !ended()) try_save();
    }
    if (step_ > first || first == 0) save();
    TrainResult result = {step_, skipped_, ended(), loss_, seconds(), validation_};
    if (recorder_) recorder_->finish(summary(result, first));
    return result;
  }

 private:
  bool is_first() const { return run_.world.all.rank() == 0; }
  void message(const std::string& text) {
    if (recorder_) recorder_->message(text);
  }

  /// What one rank decides all do: a signal reaches them at different times.
  bool any_rank(bool here) const {
    if (run_.world.alone()) return here;
    const at::Tensor votes = at::full({1}, here ? 1.0 : 0.0);
    run_.world.all.sum(votes, "agreeing whether to go on");
    return votes.item<float>() > 0;
  }

  double sum_of(const parallel::Group& group, double value) const {
    if (group.alone()) return value;
    const at::Tensor sum = at::full({1}, value, at::kDouble);
    group.sum(sum, "adding up the loss");
    return sum.item<double>();
  }

  bool ended() const { return step_ == options_.steps || share_ >= 1; }

  /// Ranks have clocks of their own, but one rate: the first one's clock counts.
  void look_at_clock() {
    if (budget_.limited()) share_ = sum_of(run_.world.all, is_first() ? budget_.share() : 0);
  }

  /// Of the run, in steps or in seconds of a budget: done, total.
  std::pair<int64_t, int64_t> progress() const {
    if (!budget_.limited()) return {step_, options_.steps};
    return {int64_t(budget_.used()), int64_t(std::ceil(60 * options_.minutes))};
  }

  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  /// Adds up the gradients of the step's batches, of all ranks. False if the loss is not finite.
  bool compute_gradients() {
    optimizer_.zero_gradients();
    for (int64_t i = 0; i < options_.accumulate; ++i) {
      const int64_t batch = step_ * options_.accumulate + i;
      tokens_ += task_.tokens_of_batch(batch);
      flops_ += task_.flops_of_batch(batch);
    }
    return own_gradients();
  }

  /// Of this rank's batches. All ranks know whether the loss is finite before gradients travel: with lent
  /// parameters that is in every backward pass.
  bool own_gradients() {
    const parallel::World& world = run_.world;
    const int64_t each = options_.accumulate / world.mesh.data;
    const int64_t first = step_ * options_.accumulate + world.place().data * each;
    double own = 0;
    for (int64_t i = 0; i < each; ++i) {
      at::Tensor loss;
      if (std::isfinite(own)) {
        loss = loss_of(first + i);
        own += sum_of(world.sequence, loss.defined() ? loss.item<double>() : std::nan(""));
      }
      if (run_.lent && !std::isfinite(sum_of(world.all, own))) own = std::nan("");
      const bool last = i + 1 == each;
      loss_ = last && world.mesh.data > 1 ? sum_of(world.all, own) / double(world.mesh.shards()) : own;
      if (last && !std::isfinite(loss_)) return false;
      if (!std::isfinite(own)) continue;
      if (last) gradients_.begin();
      loss.backward();
    }
    gradients_.finish();
    return true;
  }

  at::Tensor loss_of(int64_t batch) {
    try {
      return task_.loss(batch) / double(options_.accumulate);
    } catch (const NonFinite&) {
      return {};
    }
  }

  void take_step() {
    const bool finite = compute_gradients();
    norm_ = finite ? optimizer_.gradient_norm() : std::nan("");
    rate_ = budget_.limited() ? schedule_.at(step_, share_) : task_.rate(schedule_, step_);
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
    message(fmt::format("step {} skipped: loss {:.4g}, gradient norm {:.4g}", step_, loss_, norm_));
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
    if (!recorder_) return;
    if (budget_.limited()) details = fmt::format("step {}, {}", step_, details);
    recorder_->show(progress().first, details);
    if (step_ % std::max<int64_t>(1, options_.log_every) != 0 && !ended()) return;
    std::map<std::string, double> values = {{"rate", rate_},
                                            {"tokens", double(tokens_before_ + tokens_)},
                                            {"tokens_per_second", speed},
                                            {"share_of_peak", share},
                                            {"memory_mb", double(resident_bytes()) / 1e6},
                                            {"skipped", double(skipped_)}};
    if (budget_.limited()) values["minutes"] = budget_.used() / 60;
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
    if (budget_.limited()) {
      values["minutes"] = budget_.used() / 60;
      text = fmt::format("{:.1f} min, {}", values["minutes"], text);
    }
    if (!recorder_) return;
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
    save_checkpoint();
    if (!is_first()) return;
    const auto with_average = averaged();
    std::optional<WholeWeights> whole;
    if (run_.lent) whole.emplace(task_.model(), checkpoints_.path(step_), ema_ ? "ema." : "model.");
    task_.export_model(run_.folder);
  }

  void save_checkpoint() {
    RemoteTensors tensors(run_.world.all);
    for (const auto& item : task_.model().named_parameters()) {
      const auto owner = run_.lent ? run_.lent->owner(item.value()) : std::nullopt;
      tensors.add("model." + item.key(), item.value(), owner.value_or(0));
    }
    optimizer_.save(tensors);
    if (ema_) ema_->save(tensors, run_.lent.get());
    tensors.add("random", at::globalContext().defaultGenerator(at::kCPU).get_state());
    tensors.add("gradient_norms", at::tensor(std::vector<double>(norms_.begin(), norms_.end()), at::kDouble));
    std::map<std::string, std::string> metadata = {{"kind", kKind},
                                                   {"format", "1"},
                                                   {"step", std::to_string(step_)},
                                                   {"skipped", std::to_string(skipped_)},
                                                   {"skipped_in_a_row", std::to_string(skipped_in_a_row_)},
                                                   {"threads", std::to_string(threads_in_use())},
                                                   {"options", options::write(options_).dump()}};
    if (budget_.limited()) metadata["milliseconds"] = std::to_string(int64_t(1000 * budget_.used()));
    tensors.write_on_first([&](const auto& all, const auto& contents) {
      checkpoints_.save(step_, {all, metadata}, contents);
    });
  }

  /// A disk that is full now may not be later: the run goes on, and the last complete checkpoint stays.
  void try_save() {
    try {
      save();
    } catch (const Error& error) {
      message(fmt::format("no checkpoint at step {}: {}", step_, error.what()));
    }
  }

  static int64_t number(const Checkpoint& checkpoint, const std::string& key) {
    const auto value = checkpoint.file.metadata.find(key);
    LACT_CHECK(value != checkpoint.file.metadata.end(), "{}: has no {}", checkpoint.path, key);
    int64_t number = -1;
    try {
      number = std::stoll(value->second);
    } catch (const std::exception&) {
    }
    LACT_CHECK(number >= 0, "{}: {} is \"{}\", expected a number", checkpoint.path, key, value->second);
    return number;
  }

  void load(const Checkpoint& checkpoint) {
    const auto& [step, path, file] = checkpoint;
    const auto kind = file.metadata.find("kind");
    LACT_CHECK(kind != file.metadata.end() && kind->second == kKind, "{}: is not a {}", path, kKind);
    {
      at::NoGradGuard no_grad;
      for (auto& item : task_.model().named_parameters())
        restore(item.value(), file.tensors, "model." + item.key(), path);
    }
    optimizer_.load(file.tensors, path);
    if (ema_) ema_->load(file.tensors, path);
    restore_random_state(file.tensors, path);
    restore_norms(file.tensors, path);
    step_ = number(checkpoint, "step");
    skipped_ = number(checkpoint, "skipped");
    skipped_in_a_row_ = number(checkpoint, "skipped_in_a_row");
    if (budget_.limited()) budget_.add_earlier(double(number(checkpoint, "milliseconds")) / 1000);
    LACT_CHECK(step_ == step && step_ <= options_.steps, "{}: is of step {}, expected {} of at most {}", path,
               step_, step, options_.steps);
    if (const int64_t threads = number(checkpoint, "threads"); threads != threads_in_use()) {
      log::warn("the run used {} threads before and {} now: sums may round differently", threads,
                threads_in_use());
    }
  }

  static void restore_random_state(const std::map<std::string, at::Tensor>& tensors,
                                   const std::string& path) {
    auto generator = at::globalContext().defaultGenerator(at::kCPU);
    at::Tensor state = generator.get_state();
    restore(state, tensors, "random", path);
    try {
      generator.set_state(state);
    } catch (const c10::Error&) {
      fail("{}: tensor random is damaged: it is no state of the random generator", path);
    }
  }

  void restore_norms(const std::map<std::string, at::Tensor>& tensors, const std::string& path) {
    const auto found = tensors.find("gradient_norms");
    LACT_CHECK(
        found != tensors.end() && found->second.scalar_type() == at::kDouble && found->second.dim() == 1 &&
            found->second.numel() <= int64_t(kRememberedNorms) && found->second.isfinite().all().item<bool>(),
        "{}: gradient_norms is missing or not a list of at most {} finite numbers", path, kRememberedNorms);
    const auto* values = found->second.data_ptr<double>();
    norms_.assign(values, values + found->second.numel());
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
  Optimizer optimizer_;
  std::optional<Ema> ema_;
  GradientSum gradients_;
  TimeBudget budget_;
  double share_ = 0;                  ///< of the budget that is used, as all ranks see it
  std::optional<Recorder> recorder_;  ///< of rank 0
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
  constexpr double kLargest = 1e30;
  check_range("steps", steps, 1, kMostSteps);
  check_range("minutes", minutes, 0, 1e7);
  check_range("accumulate", accumulate, 1, 1 << 20);
  check_range("rate", rate, 1e-30, 1000);
  check_range("rate_floor", rate_floor, 0, 1);
  check_range("warmup", warmup, 0, kMostSteps);
  adamw.check();
  muon.check();
  check_range("clip", clip, 0, kLargest);
  check_range("skip_above", skip_above, 0, kLargest);
  LACT_CHECK(ema >= 0 && ema < 1, "[train] ema is {}, expected 0 to below 1", ema);
  check_range("validate_every", validate_every, 0, kMostSteps);
  check_range("save_every", save_every, 0, kMostSteps);
  check_range("keep", keep, 1, 1 << 20);
  check_range("log_every", log_every, 1, kMostSteps);
}

TrainResult train(Task& task, const TrainOptions& options, const RunOptions& run) {
  options.check();
  const std::unique_ptr<RunLock> lock = lock_folder(run);
  return train(task, options, run, lock, run.resume ? find_checkpoint(run) : std::nullopt);
}

TrainResult train(Task& task, const TrainOptions& options, const RunOptions& run,
                  const std::unique_ptr<RunLock>& /*held*/, std::optional<Checkpoint> checkpoint) {
  options.check();
  check_ranks(task, options, run, checkpoint);
  const ParameterCounts parameters = count_parameters(task.model());
  const Shares shares = shares_of(run);
  check_memory_to_train(parameters, options, shares);
  if (const std::string warning = memory_warning(parameters, options, shares); !warning.empty())
    log::warn("{}", warning);
  return Training(task, options, run).run(std::move(checkpoint));
}

}  // namespace lact::train
