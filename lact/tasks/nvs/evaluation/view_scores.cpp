#include "lact/tasks/nvs/evaluation/view_scores.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "lact/base/error.h"
#include "lact/data/views/preprocess.h"
#include "lact/io/picture_sheet.h"

namespace lact::tasks::nvs {

namespace {

at::Tensor target_pictures(const data::TestViews& scene) {
  std::vector<at::Tensor> pictures;
  for (const int64_t target : scene.targets) pictures.push_back(scene.views.images[size_t(target)]);
  return at::stack(pictures);
}

/// Some of the targets, spread evenly.
std::vector<int64_t> targets_on_sheet(int64_t targets) {
  const int64_t shown = std::min(targets, kSheetTargets);
  std::vector<int64_t> chosen;
  for (int64_t i = 0; i < shown; ++i) chosen.push_back(i * targets / shown);
  return chosen;
}

/// `guessed[model][count]`: pictures [T, 3, H, W].
at::Tensor comparison_sheet(const at::Tensor& truth, const std::vector<std::vector<at::Tensor>>& guessed) {
  std::vector<std::vector<at::Tensor>> rows;
  for (const int64_t target : targets_on_sheet(truth.size(0))) {
    for (const auto& of_model : guessed) {
      rows.push_back({truth[target]});
      for (const at::Tensor& pictures : of_model) rows.back().push_back(pictures[target]);
    }
  }
  return io::picture_sheet(rows);
}

/// Numbers of views that it is to read of a scene.
std::vector<int64_t> counts_of(const data::TestCase& scene, const Guesser& guesser) {
  return guesser.reads_views ? scene.counts : std::vector<int64_t>{0};
}

/// What is built on first use (thread pools, packed weights) must not count as time of the first scene.
void run_once(const std::vector<Guesser>& guessers, const data::TestCase& test,
              const data::TestViews& scene) {
  data::TestViews one_target = scene;
  one_target.targets.resize(1);
  for (const auto& guesser : guessers)
    if (const auto counts = counts_of(test, guesser); !counts.empty()) guesser.guess(one_target, counts[0]);
}

void check_sizes(const std::vector<Guesser>& guessers, const data::TestViews& scene) {
  const at::Tensor& image = scene.views.images.front();
  for (const auto& guesser : guessers) data::check_patches(image.size(1), image.size(2), guesser.patch_size);
}

int64_t views_of(const data::TestCase& scene, const Guesser& guesser) {
  int64_t views = 0;
  for (const int64_t count : counts_of(scene, guesser)) views += count + scene.targets;
  return views;
}

}  // namespace

std::vector<ViewScore> view_scores(const std::vector<NamedNvs>& models,
                                   const std::vector<data::TestCase>& cases,
                                   const ViewScoresOptions& options) {
  std::vector<Guesser> guessers;
  for (const auto& model : models) guessers.push_back(guesser_of(model));
  return guesser_scores(guessers, cases, options);
}

std::vector<ViewScore> guesser_scores(const std::vector<Guesser>& guessers,
                                      const std::vector<data::TestCase>& cases,
                                      const ViewScoresOptions& options) {
  int64_t done = 0, total = 0;
  for (const auto& one : cases)
    for (const auto& guesser : guessers) total += views_of(one, guesser);
  LACT_CHECK(!guessers.empty(), "[view scores] no model is given, expected at least one");
  LACT_CHECK(total > 0, "[view scores] no scene has as many views as are to be read");
  bool warm = false;
  std::vector<ViewScore> scores;
  for (const auto& one : cases) {
    if (std::all_of(guessers.begin(), guessers.end(),
                    [&](const Guesser& guesser) { return counts_of(one, guesser).empty(); }))
      continue;
    if (options.on_progress) options.on_progress(done, total, one.name);
    const data::TestViews scene = one.load();
    check_sizes(guessers, scene);
    if (!std::exchange(warm, true)) run_once(guessers, one, scene);
    const at::Tensor truth = target_pictures(scene);
    std::vector<std::vector<at::Tensor>> guessed;
    for (const auto& guesser : guessers) {
      guessed.emplace_back();
      for (const int64_t count : counts_of(one, guesser)) {
        const GuessedViews views = guesser.guess(scene, count);
        scores.push_back({guesser.name, one.group, one.name, count,
                          score_images(views.pictures, truth, options.lpips), views.reconstruct_seconds,
                          views.render_seconds});
        guessed.back().push_back(views.pictures);
        done += count + one.targets;
        if (options.on_progress) options.on_progress(done, total, one.name);
      }
    }
    if (options.on_sheet) options.on_sheet(one, comparison_sheet(truth, guessed));
  }
  return scores;
}

}  // namespace lact::tasks::nvs
