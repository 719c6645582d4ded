#include "lact/data/views/test_views.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <set>

#include "lact/base/error.h"
#include "lact/base/random.h"
#include "lact/data/views/frame_choice.h"
#include "lact/data/views/load_views.h"
#include "lact/data/views/photo_scenes.h"
#include "lact/data/views/tracer/random_camera.h"
#include "lact/data/views/tracer/render.h"

namespace lact::data {

namespace {

using InputChoices = std::map<int64_t, std::vector<int64_t>>;

/// The case without its views.
TestCase case_of(const std::string& group, const std::string& name, int64_t available, int64_t targets,
                 const TestOptions& options) {
  TestCase result;
  result.group = options.group.empty() ? group : options.group;
  result.name = name;
  result.targets = targets;
  for (const int64_t count : std::set<int64_t>(options.counts.begin(), options.counts.end()))
    (count <= available ? result.counts : result.left_out).push_back(count);
  return result;
}

/// Loads what is used of a scene.
TestViews load_test_views(const std::vector<int64_t>& targets, const InputChoices& inputs,
                          const std::function<PosedImages(const std::vector<int64_t>&)>& load) {
  std::set<int64_t> used(targets.begin(), targets.end());
  for (const auto& [count, views] : inputs) used.insert(views.begin(), views.end());
  const std::vector<int64_t> loaded(used.begin(), used.end());
  const auto places_of = [&](const std::vector<int64_t>& views) {
    std::vector<int64_t> places;
    for (const int64_t view : views)
      places.push_back(std::lower_bound(loaded.begin(), loaded.end(), view) - loaded.begin());
    return places;
  };
  TestViews result;
  result.views = load(loaded);
  result.targets = places_of(targets);
  for (const auto& [count, views] : inputs) result.inputs[count] = places_of(views);
  return result;
}

/// Random cameras: first the targets, then the views that inputs are chosen from.
TestCase traced_case(const std::string& group, const std::string& name, uint64_t seed,
                     const std::function<tracer::Scene()>& make_scene, const TestOptions& options) {
  const int64_t most = *std::max_element(options.counts.begin(), options.counts.end());
  TestCase result = case_of(group, name, most, options.targets, options);
  result.load = [=, counts = result.counts] {
    const auto cameras =
        tracer::random_cameras(mix(seed, 1), options.targets + most, options.height, options.width);
    std::vector<int64_t> targets(static_cast<size_t>(options.targets)), pool(static_cast<size_t>(most));
    std::iota(targets.begin(), targets.end(), 0);
    std::iota(pool.begin(), pool.end(), options.targets);
    InputChoices inputs;
    for (const int64_t count : counts)
      inputs[count] = choose_views(cameras, pool, count, options.inputs, mix(seed, 2));
    return load_test_views(targets, inputs, [&](const std::vector<int64_t>& views) {
      const tracer::Scene scene = make_scene();
      PosedImages images;
      for (const int64_t view : views) images.cameras.push_back(cameras[static_cast<size_t>(view)]);
      images.images.resize(views.size());
      at::parallel_for(0, static_cast<int64_t>(views.size()), 1, [&](int64_t begin, int64_t end) {
        for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
          images.images[i] = tracer::render(scene, images.cameras[i]);
      });
      return images;
    });
  };
  return result;
}

}  // namespace

void TestOptions::check() const {
  LACT_CHECK(!counts.empty(), "[test scenes] no number of input views is given, expected at least one");
  for (const int64_t count : counts)
    LACT_CHECK(count >= 1 && count <= kMostTestViews,
               "[test scenes] {} input views are asked for, expected 1 to {}", count, kMostTestViews);
  LACT_CHECK(targets >= 1 && targets <= kMostTestViews,
             "[test scenes] {} target views are asked for, expected 1 to {}", targets, kMostTestViews);
  LACT_CHECK(height >= 1 && width >= 1 && height <= 8192 && width <= 8192,
             "[test scenes] views of {} x {} pixels are asked for, expected sides of 1 to 8192", width,
             height);
}

std::vector<TestCase> procedural_cases(int64_t scenes, const TestOptions& options) {
  options.check();
  constexpr int64_t kMostScenes = 1 << 20;
  LACT_CHECK(scenes >= 0 && scenes <= kMostScenes, "[test scenes] {} scenes are asked for, expected 0 to {}",
             scenes, kMostScenes);
  const auto source = std::make_shared<SceneSource>(SceneSourceConfig{}, ScenePart::kHoldout);
  std::vector<TestCase> cases;
  for (int64_t i = 0; i < scenes; ++i) {
    const uint64_t seed = mix(options.seed, static_cast<uint64_t>(i));
    cases.push_back(traced_case(
        "procedural", std::to_string(i), seed, [=] { return source->scene(seed); }, options));
  }
  return cases;
}

std::vector<TestCase> mesh_cases(const SceneSourceConfig& config, const TestOptions& options) {
  options.check();
  SceneSourceConfig meshes_alone = config;
  meshes_alone.mesh_share = 1;
  const auto source = std::make_shared<SceneSource>(meshes_alone, ScenePart::kHoldout);
  std::vector<TestCase> cases;
  for (int64_t i = 0; i < source->num_meshes(); ++i) {
    const uint64_t seed = mix(options.seed, static_cast<uint64_t>(i));
    cases.push_back(traced_case(
        "meshes", source->mesh_file(i).name, seed, [=] { return source->mesh_scene(i, seed); }, options));
  }
  return cases;
}

std::vector<TestCase> photo_cases(const std::vector<std::string>& paths, const CaptureOptions& reading,
                                  const TestOptions& options) {
  options.check();
  std::vector<TestCase> cases;
  std::map<std::string, int> seen;
  for (const std::string& path : paths) {
    const auto capture = std::make_shared<const Capture>(load_capture(path, reading));
    const auto cameras = cameras_of(*capture);
    LACT_CHECK(cameras.size() >= 2,
               "{}: the scene has {} view, expected at least one to read and one to guess", capture->source,
               cameras.size());
    ViewSelection selection;
    selection.inputs = options.inputs;
    selection.target_every = options.target_every;
    // At least one is left to read.
    selection.num_targets = std::min(options.targets, static_cast<int64_t>(cameras.size()) - 1);
    selection.seed = options.seed;
    const ViewSplit all = select_views(cameras, selection);
    std::string name = name_of_capture(path);
    if (const int times = ++seen[name]; times > 1) name += fmt::format(" ({})", times);
    TestCase result = case_of(name, name, static_cast<int64_t>(all.inputs.size()),
                              static_cast<int64_t>(all.targets.size()), options);
    result.load = [=, counts = result.counts] {
      InputChoices inputs;
      for (const int64_t count : counts) {
        ViewSelection some = selection;
        some.num_inputs = count;
        inputs[count] = select_views(cameras, some).inputs;
      }
      TestViews loaded = load_test_views(all.targets, inputs, [&](const auto& views) {
        return load_views(*capture, views, options.height, options.width);
      });
      loaded.object = object_frame(cameras);
      return loaded;
    };
    cases.push_back(std::move(result));
  }
  return cases;
}

}  // namespace lact::data
