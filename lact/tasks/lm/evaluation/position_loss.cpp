#include "lact/tasks/lm/evaluation/position_loss.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

#include "lact/base/error.h"
#include "lact/tasks/lm/evaluation/text_score.h"

namespace lact::tasks::lm {

namespace {

/// A sequence that is read, and which of its tokens count.
struct Place {
  int64_t begin = 0;
  data::TokenRange counted;  ///< of the text
};

int64_t longest_document(const data::TokenArray& tokens) {
  int64_t longest = 0;
  for (const auto& document : tokens.documents()) longest = std::max(longest, document.size());
  return longest;
}

/// As many as fit into the documents, thinned out evenly to at most `most`.
std::vector<Place> separate_places(const data::TokenArray& tokens, int64_t length, int64_t most) {
  std::vector<Place> all;
  for (const auto& document : tokens.documents())
    for (int64_t place = document.begin; place + length <= document.end; place += length)
      all.push_back({place, {place, place + length}});
  LACT_CHECK(!all.empty(), "[eval] the longest document has {} tokens, fewer than one sequence of {}",
             longest_document(tokens), length);
  std::vector<Place> chosen;
  const auto count = std::min<int64_t>(most, int64_t(all.size()));
  for (int64_t i = 0; i < count; ++i) chosen.push_back(all[size_t(i * int64_t(all.size()) / count)]);
  return chosen;
}

/// Sequences of J buckets that begin one bucket after the other: those of n in a row read n - J + 1 buckets
/// of the text at every position. Every document gives its share of `most`, from its middle.
std::vector<Place> overlapping_places(const data::TokenArray& tokens, int64_t length, int64_t bucket,
                                      int64_t most) {
  LACT_CHECK(length % bucket == 0, "[eval] sequences of {} tokens are no whole buckets of {}", length,
             bucket);
  std::vector<int64_t> fitting;  // sequences of each document
  for (const auto& document : tokens.documents())
    fitting.push_back(document.size() < length ? 0 : (document.size() - length) / bucket + 1);
  const int64_t all = std::accumulate(fitting.begin(), fitting.end(), int64_t(0));
  std::vector<Place> chosen;
  for (size_t i = 0; i < fitting.size(); ++i) {
    const int64_t count = all > most ? fitting[i] * most / all : fitting[i];
    if (count < length / bucket) continue;
    const int64_t first = tokens.documents()[i].begin + (fitting[i] - count) / 2 * bucket;
    const data::TokenRange counted = {first + length - bucket, first + count * bucket};
    for (int64_t place = 0; place < count; ++place) chosen.push_back({first + place * bucket, counted});
  }
  LACT_CHECK(
      !chosen.empty(),
      "[eval] no document is read at every position: the longest has {} tokens and {} sequences in all "
      "are asked for, expected at least {} of {} tokens from one document",
      longest_document(tokens), most, length / bucket, length);
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
  const auto places = options.same_text ? overlapping_places(tokens, length, bucket, options.sequences)
                                        : separate_places(tokens, length, options.sequences);
  at::Tensor sums = at::zeros({length}, at::kDouble), counts = at::zeros({length}, at::kDouble);
  std::vector<int64_t> ids(static_cast<size_t>(length));
  int64_t done = 0;
  for (const auto& [place, counted] : places) {
    tokens.copy(place, length, ids.data());
    const int64_t begin = std::max<int64_t>(0, counted.begin - place),
                  end = std::min(length, counted.end - place);
    counts.slice(0, begin, end).add_(1);
    models::LmStream stream(model);
    TextScorer scorer(stream);
    // Nothing after the last token that counts has to be read.
    scorer.read({ids.begin(), ids.begin() + end},
                [&, begin = begin](const at::Tensor& losses, int64_t first) {
                  const int64_t from = std::max(first, begin), to = first + losses.size(0);
                  if (from < to) sums.slice(0, from, to).add_(losses.slice(0, from - first).to(at::kDouble));
                });
    if (on_progress) on_progress(++done, int64_t(places.size()));
  }
  PositionLoss result = {name, int64_t(places.size()), {}, {}, 0};
  // Position 0 is predicted from nothing and has no loss.
  const at::Tensor means = sums / counts;
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
