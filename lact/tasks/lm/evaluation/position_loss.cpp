#include "lact/tasks/lm/evaluation/position_loss.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/tasks/lm/evaluation/text_score.h"

namespace lact::tasks::lm {

namespace {

/// Where sequences begin: as many as fit into the documents, thinned out evenly to at most `most`.
std::vector<int64_t> choose_places(const data::TokenArray& tokens, int64_t length, int64_t most) {
  std::vector<int64_t> all;
  int64_t longest = 0;
  for (const auto& document : tokens.documents()) {
    longest = std::max(longest, document.size());
    for (int64_t place = document.begin; place + length <= document.end; place += length)
      all.push_back(place);
  }
  LACT_CHECK(!all.empty(), "[eval] the longest document has {} tokens, fewer than one sequence of {}",
             longest, length);
  std::vector<int64_t> chosen;
  const auto count = std::min<int64_t>(most, int64_t(all.size()));
  for (int64_t i = 0; i < count; ++i) chosen.push_back(all[size_t(i * int64_t(all.size()) / count)]);
  return chosen;
}

}  // namespace

PositionLoss position_loss(const std::string& name, std::shared_ptr<models::LanguageModel> model,
                           const data::TokenArray& tokens, const PositionLossOptions& options,
                           const std::function<void(int64_t, int64_t)>& on_progress) {
  const int64_t length = options.length;
  constexpr int64_t kLongest = 1 << 26, kMostSequences = 1 << 20;
  LACT_CHECK(length >= 2 && length <= kLongest, "[eval] sequences have {} tokens, expected 2 to {}", length,
             kLongest);
  LACT_CHECK(options.sequences >= 1 && options.sequences <= kMostSequences,
             "[eval] there are {} sequences, expected 1 to {}", options.sequences, kMostSequences);
  LACT_CHECK(options.bucket >= 0 && options.bucket <= kLongest, "[eval] bucket is {}, expected 0 to {}",
             options.bucket, kLongest);
  const int64_t bucket = options.bucket > 0 ? options.bucket : std::max<int64_t>(1, length / 16);
  const auto places = choose_places(tokens, length, options.sequences);
  at::Tensor sums = at::zeros({length}, at::kDouble);
  std::vector<int64_t> ids(static_cast<size_t>(length));
  int64_t done = 0;
  for (const int64_t place : places) {
    tokens.copy(place, length, ids.data());
    models::LmStream stream(model);
    TextScorer scorer(stream);
    scorer.read(ids, [&](const at::Tensor& losses, int64_t first) {
      sums.narrow(0, first, losses.size(0)).add_(losses.to(at::kDouble));
    });
    if (on_progress) on_progress(++done, int64_t(places.size()));
  }
  PositionLoss result = {name, int64_t(places.size()), {}, {}, 0};
  // Position 0 is predicted from nothing and has no loss.
  const at::Tensor means = sums / double(places.size());
  for (int64_t begin = 0; begin < length; begin += bucket) {
    const int64_t end = std::min(begin + bucket, length), from = std::max<int64_t>(1, begin);
    if (from >= end) continue;
    result.end.push_back(end);
    result.loss.push_back(means.slice(0, from, end).mean().item<double>());
  }
  result.mean = means.slice(0, 1).mean().item<double>();
  return result;
}

eval::Plot position_loss_plot(const std::vector<PositionLoss>& losses) {
  eval::Plot plot;
  plot.title = "Loss against position";
  plot.x_label = "position in the sequence, tokens";
  plot.y_label = "loss, nats per token";
  for (const auto& one : losses) {
    plot.series.push_back({one.name, std::vector<double>(one.end.begin(), one.end.end()), one.loss});
  }
  return plot;
}

}  // namespace lact::tasks::lm
