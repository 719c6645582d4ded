#include "lact/bench/session.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/base/threads.h"
#include "lact/bench/memory.h"
#include "lact/ops/dispatch/paths.h"

namespace lact::bench {

using options::Json;

namespace {

constexpr int kMostPeerStarts = 4;
constexpr double kInfinite = std::numeric_limits<double>::infinity();
/// An answer of zeros has an error of 1.
constexpr double kMostRounding = 0.9;
/// Where the plain form itself does worse than zeros, nothing is left but rounding, and other checks have to
/// decide: answers of the same size differ by 2 at most.
constexpr double kNothingButRounding = 2;

std::optional<double> ratio(const std::optional<double>& theirs, const std::optional<double>& ours) {
  return theirs && ours ? std::optional(*theirs / *ours) : std::nullopt;
}

}  // namespace

Session::Session(const BenchOptions& options) : options_(options) {
  options_.peer.threads = threads_in_use();
  // A folder that someone names is no place to be silent about.
  if (options_.peers && !options_.peer.folder.empty()) {
    peer_ = std::make_unique<Peer>(options_.peer);
    ++peer_starts_;
  }
  log::info("measuring the machine");
  machine_ = measure_machine(options.quick);
  if (const Peer* running = peer()) machine_.pytorch = running->version();
}

bool Session::wants(const std::string& shape) const {
  const auto& words = options_.shapes;
  return words.empty() || std::any_of(words.begin(), words.end(), [&](const std::string& word) {
           return shape.find(word) != std::string::npos;
         });
}

Peer* Session::peer() {
  if (!options_.peers) return nullptr;
  if (peer_ && peer_->alive()) return peer_.get();
  if (peer_starts_++ >= kMostPeerStarts) return nullptr;
  try {
    peer_ = std::make_unique<Peer>(options_.peer);
    return peer_.get();
  } catch (const Error& error) {
    log::warn("not compared with PyTorch: {}", error.what());
    peer_starts_ = kMostPeerStarts;
    return nullptr;
  }
}

bool Session::peer_has(const std::string& name) {
  const Peer* running = peer();
  return running != nullptr && running->has(name);
}

std::optional<Json> Session::ask(const Json& request) {
  Peer* running = peer();
  if (running == nullptr) return std::nullopt;
  try {
    return running->ask(request);
  } catch (const Error& error) {
    log::warn("{}; {}", error.what(), request.dump());
    return std::nullopt;
  }
}

void Session::add_forms(const Trial& trial, std::vector<Contender>& contenders) {
  if (trial.forms.empty() || peer() == nullptr) return;
  for (const auto& form : trial.forms) {
    std::vector<Json> requests = {form.request};
    if (peer_->has("compile")) {
      requests.push_back(form.request);
      requests.back()["compile"] = true;
    }
    for (auto& request : requests) {
      request["precision"] = form.precision;
      contenders.push_back({form.precision,
                            [this, request] {
                              const auto answer = ask(request);
                              if (!answer || !(*answer).contains("seconds")) return std::nan("");
                              return (*answer)["seconds"].is_number() ? (*answer)["seconds"].get<double>()
                                                                      : std::nan("");
                            },
                            "pytorch " + form.precision});
    }
  }
}

void Session::measure_memory(const Trial& trial, Result& row) {
  if (const auto bytes = extra_peak_bytes([&] { with_paths(true, trial.run); })) {
    row.extra_memory_mb = double(*bytes) / 1e6;
  }
  for (const auto& form : trial.forms) {
    if (form.precision != row.precision) continue;
    Json request = form.request;
    request["precision"] = form.precision;
    request["memory"] = true;
    const auto answer = ask(request);
    if (!answer || !answer->contains("extra_memory_mb") || !(*answer)["extra_memory_mb"].is_number()) return;
    const double theirs = (*answer)["extra_memory_mb"].get<double>();
    if (row.extra_memory_mb && theirs > 0) row.memory_vs_pytorch = *row.extra_memory_mb / theirs;
    return;
  }
}

bool Session::is_right(const Trial& trial, Result& row) {
  double error = kInfinite;
  with_paths(true, [&] { error = trial.error(); });
  row.max_error = error;
  if (error <= trial.tolerance) return true;
  double allowed = trial.tolerance;
  bool right = false;
  if (trial.rounding) {
    double plain = 0;
    with_paths(false, [&] { plain = trial.rounding->reference_error(); });
    const bool others_decide = plain > kMostRounding && !trial.rounding->checks.empty();
    const double most = others_decide ? kNothingButRounding : kMostRounding;
    allowed = std::max(allowed, std::min(most, 1.5 * plain));
    right = error <= allowed;
    row.note = fmt::format("error of rounding: the plain form's is {:.2g}", plain);
    for (const auto& check : trial.rounding->checks) {
      double other = kInfinite;
      with_paths(true, [&] { other = check.error(); });
      row.note += fmt::format(", {} {:.1e}", check.name, other);
      if (other <= check.tolerance) continue;
      log::error("{}: wrong answer, error {:.2g} {} where {:.2g} is allowed; not timed", title(row), other,
                 check.name, check.tolerance);
      return false;
    }
  }
  if (!right) {
    log::error("{}: wrong answer, error {:.2g} where {:.2g} is allowed; not timed", title(row), error,
               allowed);
  }
  return right;
}

Result Session::measure(const Trial& trial) {
  Result row = trial.row;
  log::info("{}", title(row));
  if (trial.error && !is_right(trial, row)) {
    row.wrong = true;
    add(row);
    return row;
  }
  std::vector<Contender> contenders = {
      {"ours", [&] { return seconds_of([&] { with_paths(true, trial.run); }); }, "ours"}};
  if (trial.reference) {
    contenders.push_back(
        {"reference", [&] { return seconds_of([&] { with_paths(false, trial.reference); }); }, "reference"});
  }
  for (const auto& rival : trial.rivals) {
    contenders.push_back(
        {rival.precision, [&] { return seconds_of(rival.run); }, "pytorch " + rival.precision});
  }
  add_forms(trial, contenders);
  const auto times = race(contenders, options_.race);
  const auto& [best, median, runs] = times[0];
  row.seconds = *best / trial.count;
  row.median_seconds = *median / trial.count;
  row.vs_reference = ratio(best_of(contenders, times, "reference"), best);
  row.vs_pytorch_bf16 = ratio(best_of(contenders, times, "pytorch bf16"), best);
  row.vs_pytorch_f32 = ratio(best_of(contenders, times, "pytorch f32"), best);
  if (trial.work > 0 && trial.limit > 0) row.share_of_peak = trial.work / *row.seconds / trial.limit;
  if (trial.memory) measure_memory(trial, row);
  add(row);
  return row;
}

void Session::add(Result row) {
  results_.push_back(std::move(row));
  if (on_row) on_row(results_.back());
}

void Session::note(const std::string& text) {
  LACT_ASSERT(!results_.empty());
  std::string& note = results_.back().note;
  note += (note.empty() ? "" : "; ") + text;
}

bool Session::any_wrong() const {
  return std::any_of(results_.begin(), results_.end(), [](const Result& row) { return row.wrong; });
}

double largest_error(const std::vector<at::Tensor>& found, const std::vector<at::Tensor>& expected) {
  LACT_ASSERT(found.size() == expected.size());
  double worst = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i].sizes() != expected[i].sizes()) return kInfinite;
    const at::Tensor right = expected[i].detach().to(at::kFloat);
    const at::Tensor difference = (found[i].detach().to(at::kFloat) - right).abs();
    const double scale = right.abs().max().item<double>(), most = difference.max().item<double>();
    if (!std::isfinite(most) || !std::isfinite(scale)) return kInfinite;
    worst = std::max(worst, most == 0 ? 0 : most / scale);
  }
  return worst;
}

double norm_error(const std::vector<at::Tensor>& found, const std::vector<at::Tensor>& expected) {
  LACT_ASSERT(found.size() == expected.size());
  double difference = 0, scale = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i].sizes() != expected[i].sizes()) return kInfinite;
    const at::Tensor right = expected[i].detach().to(at::kFloat);
    difference += (found[i].detach().to(at::kFloat) - right).square().sum(at::kDouble).item<double>();
    scale += right.square().sum(at::kDouble).item<double>();
  }
  const double error = difference == 0 ? 0 : std::sqrt(difference / scale);
  return std::isfinite(error) ? error : kInfinite;
}

void with_paths(bool fused, const std::function<void()>& action) {
  struct Restore {
    bool before = ops::fused_paths();
    ~Restore() { ops::set_fused_paths(before); }
  } restore;
  ops::set_fused_paths(fused);
  action();
}

at::ScalarType type_of(const std::string& precision) {
  return precision == "bf16" ? at::kBFloat16 : at::kFloat;
}

}  // namespace lact::bench
