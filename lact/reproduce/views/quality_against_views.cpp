// Figure 4: PSNR against the number of views, with Gaussians that are predicted or optimised beside it.
#include <fmt/format.h>

#include <filesystem>

#include "lact/base/error.h"
#include "lact/reproduce/views/figures.h"
#include "lact/reproduce/views/runs.h"

namespace lact::reproduce::views {

namespace {

/// Every eighth photo is guessed, which leaves 35.
constexpr int64_t kPhotos = 40;
/// LaCT is 1 % below full attention in the paper's tables.
constexpr double kComparableShare = 0.02;

const char* const kSplatLabel = "Gaussian splatting";

std::string capture_id(int64_t capture) { return fmt::format("views_capture_{}", capture); }
std::string splat_id(int64_t capture, int64_t count, int64_t seed) {
  return fmt::format("views_splat_{}_{}_{}", capture, count, seed);
}

Step splat_step(const Setting& setting, int64_t capture, int64_t count, int64_t seed) {
  Step step = {
      splat_id(capture, count, seed),
      fmt::format("Gaussians of scene {} from {} views, seed {}", capture, count, seed),
      {"nvs", "splat", "@" + capture_id(capture), "--size", std::to_string(setting.size), "--views",
       std::to_string(count), "--iterations", std::to_string(setting.splat_iterations), "--most", "2000",
       "--random-points", "1000", "--seed", std::to_string(seed), "--json", "-o", "@out/scene.ply"}};
  step.work = 2 + 0.0015 * double(setting.splat_iterations);
  return step;
}

/// The models on the photos that the Gaussians are made of.
Step captures_step(const Comparison& captures, int64_t seed) {
  const Setting& setting = captures.setting;
  Words words = {"nvs", "eval"};
  for (const Contender& contender : captures.contenders)
    words.insert(words.end(), {"--model", fmt::format("{}=@{}", contender.id, training_id(contender, seed))});
  for (int64_t capture = 1; capture <= setting.captures; ++capture)
    words.insert(words.end(), {"--photos", "@" + capture_id(capture)});
  words.insert(words.end(), {"--frame", "given", "--size", std::to_string(setting.size), "--targets",
                             std::to_string(kPhotos), "--counts",
                             fmt::format("{}", fmt::join(captures.counts, ",")), "--json"});
  Step step = {test_id(captures, seed), fmt::format("models on the photos, seed {}", seed), words};
  step.work = 2 + double(setting.captures);
  return step;
}

std::vector<Step> steps_with_splats(const Comparison& scenes, const Comparison& captures) {
  const Setting& setting = scenes.setting;
  std::vector<Step> steps = steps_of(scenes);
  for (int64_t capture = 1; capture <= setting.captures; ++capture) {
    steps.push_back({capture_id(capture),
                     fmt::format("photos of scene {}", capture),
                     {"nvs", "photos", "--seed", std::to_string(100 + capture), "--views",
                      std::to_string(kPhotos), "--size", std::to_string(setting.size), "-o", "@out"}});
    for (const int64_t count : setting.counts)
      for (int64_t seed = 1; seed <= setting.seeds; ++seed)
        steps.push_back(splat_step(setting, capture, count, seed));
  }
  for (int64_t seed = 1; seed <= setting.seeds; ++seed) steps.push_back(captures_step(captures, seed));
  return steps;
}

/// One value per seed, the mean over the captures.
Sample splat_psnr(const Setting& setting, int64_t count, const Results& results) {
  Sample sample = {kSplatLabel, {}};
  for (int64_t seed = 1; seed <= setting.seeds; ++seed) {
    double sum = 0;
    for (int64_t capture = 1; capture <= setting.captures; ++capture) {
      const std::string id = splat_id(capture, count, seed);
      const auto& json = results.json(id);
      const auto psnr = json.find("psnr");
      LACT_CHECK(psnr != json.end() && psnr->is_number(), "{}: its result has no number psnr", id);
      sum += psnr->get<double>();
    }
    sample.values.push_back(sum / double(setting.captures));
  }
  return sample;
}

/// Against a model, at the number of views that training showed.
Finding against(const Comparison& scenes, size_t other, const Results& results) {
  const Contender &ours = scenes.contenders[0], &theirs = scenes.contenders[other];
  const int64_t count = scenes.setting.inputs;
  const Sample one = test_psnr(scenes, ours, count, results), two = test_psnr(scenes, theirs, count, results);
  if (theirs.id == full_attention_model().id)
    return comparable("LaCT is about as good as full attention.", one, two, Direction::higher,
                      kComparableShare);
  return beats(fmt::format("LaCT has a higher PSNR than {}.", theirs.label), one, two, Direction::higher);
}

Section views_section(const Comparison& scenes, const Comparison& captures, const Results& results) {
  const Setting& setting = scenes.setting;
  Section section;
  section.claim =
      "LaCT is about as good as full attention and clearly better than a Perceiver; it is above Long-LRM, "
      "and above "
      "Gaussian splatting where views are few.";
  section.paper = {
      "GSO, 256 x 256 pixels, PSNR from 4 / 8 / 12 / 20 / 32 / 48 views: LaCT 32.4 / 35.3 / 36.3 / 37.2 / "
      "37.5 / 37.6, "
      "full attention 32.6 / 35.6 / 36.6 / 37.5 / 37.9 / 37.9, Perceiver 30.3 / 32.8 / 33.6 / 34.3 / 34.2 / "
      "33.7.",
      "GSO, 512 x 512 pixels: LaCT 33.4 / 36.6 / 37.7 / 38.6 / 39.0 / 39.1, full attention 33.6 / 36.7 / "
      "37.9 / 38.9 / "
      "39.3 / 39.3.",
      "DL3DV, 960 x 536 pixels, from 16 / 32 / 64 / 128 views: LaCT 24.7 / 26.9 / 28.3 / 28.9; Long-LRM and "
      "Gaussian "
      "splatting in figure 4c, without numbers in the text."};
  for (size_t other = 1; other < scenes.contenders.size(); ++other)
    section.findings.push_back(against(scenes, other, results));
  std::vector<Sample> more_views;
  for (const int64_t count : scenes.counts) {
    more_views.push_back(test_psnr(scenes, scenes.contenders[0], count, results));
    more_views.back().name = fmt::format("{} views", count);
  }
  section.findings.push_back(
      improves("The more views LaCT reads, the better.", more_views, Direction::higher));
  Line splats;
  splats.name = kSplatLabel;
  for (const int64_t count : setting.counts)
    add_point(splats, double(count), splat_psnr(setting, count, results));
  const int64_t fewest = setting.counts.front();
  section.findings.push_back(
      beats(fmt::format("From {} views, LaCT has a higher PSNR than Gaussian splatting.", fewest),
            test_psnr(captures, captures.contenders[0], fewest, results),
            splat_psnr(setting, fewest, results), Direction::higher));

  section.charts = {psnr_chart(scenes, "Unseen made-up scenes", results),
                    psnr_chart(captures, "Photos of scenes for which Gaussians are optimised, too", results)};
  section.charts.back().lines.push_back(splats);
  section.tables = {contender_table(scenes, setting.inputs, results), rate_table(scenes, results)};
  for (const char* sheet : {"procedural_0.png", "procedural_1.png"}) {
    const auto file = std::filesystem::path(results.at(test_id(scenes, 1)).folder) / sheet;
    if (!std::filesystem::exists(file)) continue;
    std::vector<std::string> labels;
    for (const Contender& contender : scenes.contenders) labels.push_back(contender.label);
    section.pictures.push_back(
        {file.string(),
         fmt::format("Columns: the truth, then from {} views. Rows of each view that nobody has seen: {}.",
                     fmt::join(scenes.counts, ", "), fmt::join(labels, ", "))});
  }
  section.notes = common_notes(scenes, results);
  section.notes.push_back(
      fmt::format("Gaussian splatting: {} iterations for each of {} scenes, each number of views and each "
                  "seed, at most 2,000 "
                  "Gaussians, from the same photos that the models read; {} of {} photos are guessed.",
                  setting.splat_iterations, setting.captures, (kPhotos + 7) / 8, kPhotos));
  section.notes.push_back(fmt::format(
      "Trained on {} views; other numbers are what models make of it. Long-LRM predicts Gaussians, which "
      "know more of geometry than tokens do; its size is in the table.",
      setting.inputs));
  return section;
}

}  // namespace

Experiment quality_against_views(const Plan& plan) {
  const Setting setting = setting_of(plan);
  const Comparison scenes = {setting,
                             {main_model(), full_attention_model(), perceiver_model(), long_lrm_model()},
                             "views",
                             setting.counts};
  Comparison captures = scenes;
  captures.name = "captures";
  return {"fig4", "Figure 4: quality against the number of views", steps_with_splats(scenes, captures),
          [=](const Results& results) { return views_section(scenes, captures, results); }};
}

}  // namespace lact::reproduce::views
