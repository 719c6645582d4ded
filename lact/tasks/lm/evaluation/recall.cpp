#include "lact/tasks/lm/evaluation/recall.h"

#include <ATen/ATen.h>

#include <numeric>

#include "lact/base/error.h"
#include "lact/base/random.h"

namespace lact::tasks::lm {

namespace {

constexpr int64_t kBatch = 8;
constexpr int64_t kFewest = 20;  // fewer questions say nothing

int64_t sum(const std::vector<int64_t>& counts, int64_t begin, int64_t end) {
  return std::accumulate(counts.begin() + begin, counts.begin() + std::min(end, int64_t(counts.size())),
                         int64_t(0));
}

}  // namespace

Recall::Bucket Recall::beyond(int64_t least) const {
  const auto end = int64_t(asked.size());
  least = std::min(least, end);
  return {least, end, sum(asked, least, end), sum(right, least, end)};
}

Recall recall(const std::string& name, models::LanguageModel& model, const data::Tokenizer& tokenizer,
              const data::RecallTextOptions& text, const RecallOptions& options) {
  constexpr int64_t kLongest = 1 << 26, kMostDocuments = 1 << 20;
  LACT_CHECK(options.length >= 2 && options.length <= kLongest,
             "[eval] documents have {} tokens, expected 2 to {}", options.length, kLongest);
  LACT_CHECK(options.documents >= 1 && options.documents <= kMostDocuments,
             "[eval] there are {} documents, expected 1 to {}", options.documents, kMostDocuments);
  at::NoGradGuard no_grad;
  const data::RecallEncoder encoder(tokenizer, text);
  Recall result;
  result.name = name;
  result.chance = 1.0 / double(text.things);
  result.asked.assign(size_t(options.length), 0);
  result.right.assign(size_t(options.length), 0);
  for (int64_t first = 0; first < options.documents; first += kBatch) {
    const int64_t rows = std::min(kBatch, options.documents - first);
    const at::Tensor ids = at::empty({rows, options.length}, at::kLong);
    std::vector<data::RecallTokens> documents;
    for (int64_t i = 0; i < rows; ++i) {
      documents.push_back(encoder.document(mix(uint64_t(options.seed), uint64_t(first + i)), options.length));
      std::copy(documents.back().tokens.begin(), documents.back().tokens.end(), ids[i].data_ptr<int64_t>());
    }
    const at::Tensor likeliest = model.forward(ids).argmax(-1).to(at::kCPU).contiguous();
    for (int64_t i = 0; i < rows; ++i) {
      const auto* guesses = likeliest[i].data_ptr<int64_t>();
      for (const auto& [begin, end, distance] : documents[size_t(i)].answers) {
        bool right = true;
        for (int64_t place = begin; place < end; ++place) {
          right = right && guesses[place - 1] == documents[size_t(i)].tokens[size_t(place)];
        }
        ++result.asked[size_t(distance)];
        result.right[size_t(distance)] += right ? 1 : 0;
      }
    }
  }
  for (int64_t begin = 4; begin < options.length; begin *= 2) {
    const int64_t end = std::min(2 * begin, options.length);
    const Recall::Bucket bucket = {begin, end, sum(result.asked, begin, end), sum(result.right, begin, end)};
    if (bucket.asked >= kFewest) result.buckets.push_back(bucket);
  }
  return result;
}

eval::Plot recall_plot(const std::vector<Recall>& recalls, int64_t window) {
  eval::Plot plot;
  plot.title = "Recall against distance";
  plot.x_label = "tokens since the answer was mentioned last";
  plot.y_label = "right answers, %";
  plot.log_x = true;
  plot.y_min = 0;
  plot.y_max = 100;
  for (const auto& one : recalls) {
    eval::Series series{one.name, {}, {}};
    for (const auto& bucket : one.buckets) {
      series.x.push_back(double(bucket.begin));
      series.y.push_back(100 * bucket.accuracy());
    }
    plot.series.push_back(std::move(series));
  }
  if (!recalls.empty() && !recalls[0].buckets.empty()) {
    const auto& buckets = recalls[0].buckets;
    const double chance = 100 * recalls[0].chance;
    plot.series.push_back(
        {"chance", {double(buckets.front().begin), double(buckets.back().begin)}, {chance, chance}, true});
  }
  plot.series.push_back({"end of the window", {double(window), double(window)}, {0, 100}, true});
  return plot;
}

}  // namespace lact::tasks::lm
