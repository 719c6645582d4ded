#include <algorithm>
#include <map>

#include "lact/tasks/nvs/evaluation/view_scores.h"

namespace lact::tasks::nvs {

namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// Words in the order in which they appear first.
template <class Items, class Word>
std::vector<std::string> in_order(const Items& items, const Word& word) {
  std::vector<std::string> words;
  for (const auto& item : items)
    if (std::find(words.begin(), words.end(), word(item)) == words.end()) words.push_back(word(item));
  return words;
}

ViewSummary summary_of(const std::vector<const ViewScore*>& scores) {
  ViewSummary summary{scores[0]->model, scores[0]->group, scores[0]->inputs};
  const auto number = static_cast<double>(scores.size());
  summary.scenes = static_cast<int64_t>(scores.size());
  std::vector<double> reconstruct, render;
  for (const ViewScore* score : scores) {
    summary.images.psnr += score->images.psnr / number;
    summary.images.ssim += score->images.ssim / number;
    if (score->images.lpips)
      summary.images.lpips = summary.images.lpips.value_or(0) + *score->images.lpips / number;
    reconstruct.push_back(score->reconstruct_seconds);
    render.push_back(score->render_seconds);
  }
  summary.reconstruct_seconds = median(std::move(reconstruct));
  summary.render_seconds = median(std::move(render));
  return summary;
}

eval::Plot summary_plot(const std::vector<ViewSummary>& summaries, const std::string& title,
                        const std::string& y_label, const std::function<double(const ViewSummary&)>& value) {
  eval::Plot plot;
  plot.title = title;
  plot.x_label = "input views";
  plot.y_label = y_label;
  for (const auto& model : in_order(summaries, [](const auto& one) { return one.model; })) {
    eval::Series series{model, {}, {}};
    for (const auto& one : summaries) {
      if (one.model != model || one.inputs == 0) continue;
      series.x.push_back(static_cast<double>(one.inputs));
      series.y.push_back(value(one));
    }
    if (!series.x.empty()) plot.series.push_back(std::move(series));
  }
  return plot;
}

eval::Plot time_plot(std::vector<ViewScore> scores, const std::string& title, const std::string& y_label,
                     double ViewSummary::*seconds) {
  for (auto& score : scores) score.group = "";
  eval::Plot plot =
      summary_plot(summarize(scores), title, y_label, [&](const ViewSummary& one) { return one.*seconds; });
  plot.y_min = 0;
  return plot;
}

}  // namespace

std::vector<ViewSummary> summarize(const std::vector<ViewScore>& scores) {
  std::vector<ViewSummary> summaries;
  for (const auto& group : in_order(scores, [](const auto& one) { return one.group; })) {
    for (const auto& model : in_order(scores, [](const auto& one) { return one.model; })) {
      std::map<int64_t, std::vector<const ViewScore*>> by_count;
      for (const auto& score : scores)
        if (score.group == group && score.model == model) by_count[score.inputs].push_back(&score);
      for (const auto& [count, members] : by_count) summaries.push_back(summary_of(members));
    }
  }
  return summaries;
}

eval::Plot view_psnr_plot(const std::vector<ViewSummary>& summaries, const std::string& group) {
  std::vector<ViewSummary> members;
  std::copy_if(summaries.begin(), summaries.end(), std::back_inserter(members),
               [&](const ViewSummary& one) { return one.group == group; });
  eval::Plot plot = summary_plot(members, group, "PSNR of unseen views, dB",
                                 [](const auto& one) { return one.images.psnr; });
  plot.log_x = true;
  return plot;
}

eval::Plot reconstruct_time_plot(const std::vector<ViewScore>& scores) {
  return time_plot(scores, "Reading a scene", "seconds", &ViewSummary::reconstruct_seconds);
}

eval::Plot render_time_plot(const std::vector<ViewScore>& scores) {
  return time_plot(scores, "Rendering a view", "seconds per view", &ViewSummary::render_seconds);
}

}  // namespace lact::tasks::nvs
